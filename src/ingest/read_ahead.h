// SPDX-License-Identifier: Apache-2.0
// A thread that makes stretches of bytes ahead of who takes them, and notes what it sees in
// them. A few stretches wait at most; where the taker waits, they come without notes.
#ifndef GAIT_INGEST_READ_AHEAD_H
#define GAIT_INGEST_READ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/slice.h"

// Fills `out`; `ret_is_end` says that nothing follows. Runs on the thread.
typedef int read_ahead_make(void *context, uint8_t *out, size_t *ret_count, bool *ret_is_end);

// Looks at a stretch; what it finds goes into `notes`, which it finds zeroed at first and
// then as it left them. Runs on the thread.
typedef void read_ahead_look(void *context, struct slice stretch, void *notes);

struct read_ahead_plan {
    read_ahead_make *make;
    void *make_context;
    size_t stretch;        // bytes at most
    size_t front;          // room in front of each, for the taker
    read_ahead_look *look; // NULL: nobody does
    void *look_context;
    size_t notes_bytes;
};

struct read_ahead;

// NULL where there is no thread or no memory for it: then the caller makes them himself.
struct read_ahead *read_ahead_start(const struct read_ahead_plan *plan);

struct read_ahead_stretch {
    uint8_t *bytes; // with the room in front; the taker's until he takes the next
    size_t count;
    bool is_end;
    void *notes; // NULL: nobody looked
};

// The next stretch; the one before stays until the next but one is taken. Fails as the
// thread did.
GAIT_CHECK int read_ahead_take(struct read_ahead *ahead, struct read_ahead_stretch *ret_stretch);

// Ends the thread, whatever it is at. Contexts are the caller's again; what was taken last
// stays until read_ahead_free().
void read_ahead_stop(struct read_ahead *ahead); // takes NULL
void read_ahead_free(struct read_ahead *ahead); // takes NULL

#endif
