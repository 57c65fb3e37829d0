// SPDX-License-Identifier: Apache-2.0
// Begins of spans that wait for their ends, as texts, since those may come in another stretch
// of the file: a stack for each track.
#ifndef GAIT_INGEST_CHROME_BEGINS_H
#define GAIT_INGEST_CHROME_BEGINS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/slice.h"

struct chrome_begin {
    struct chrome_begin *below;
    struct slice text, name; // of the event, and of its name in it
    uint8_t bytes[];
};

struct chrome_begins {
    struct chrome_begin **newest; // by track
    size_t room;
};

void chrome_begins_finish(struct chrome_begins *begins); // takes a zeroed struct

// `name` is a part of the text, or empty.
GAIT_CHECK int chrome_begins_push(struct chrome_begins *begins, uint32_t track, struct slice text,
                                  struct slice name);

// The begin that an end of that name belongs to, or NULL.
const struct chrome_begin *chrome_begins_find(const struct chrome_begins *begins, uint32_t track,
                                              struct slice name);

// Takes the newest one off: it is the caller's, who frees it. NULL: there is none.
struct chrome_begin *chrome_begins_pop(struct chrome_begins *begins, uint32_t track);

#endif
