// SPDX-License-Identifier: Apache-2.0
// A thread that makes stretches of bytes ahead of who takes them, a few at most.
#ifndef GAIT_INGEST_READ_AHEAD_H
#define GAIT_INGEST_READ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

// Fills `out`; `ret_is_end` says that nothing follows. Runs on the thread.
typedef int read_ahead_make(void *context, uint8_t *out, size_t *ret_count, bool *ret_is_end);

struct read_ahead;

// NULL where there is no thread or no memory for it: then the caller makes them himself.
struct read_ahead *read_ahead_start(read_ahead_make *make, void *context, size_t stretch);

// The next stretch into `out`, which has room for it. Fails as the thread did.
GAIT_CHECK int read_ahead_take(struct read_ahead *ahead, uint8_t *out, size_t *ret_count,
                               bool *ret_is_end);

// Ends the thread, whatever it is at. The context is the caller's again.
void read_ahead_stop(struct read_ahead *ahead); // takes NULL

#endif
