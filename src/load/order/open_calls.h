// SPDX-License-Identifier: Apache-2.0
// The calls that are open on one thread, while its events are walked through in
// order of their begin.
#ifndef GAIT_LOAD_OPEN_CALLS_H
#define GAIT_LOAD_OPEN_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct open_call {
    int64_t end_ns;
    uint64_t number; // the caller's own
};

struct open_calls {
    struct open_call *calls;
    size_t depth, room;
};

void open_calls_finish(struct open_calls *open); // takes a zeroed struct

// The one in which what begins then is called, until the next push; NULL: none.
const struct open_call *open_calls_at(struct open_calls *open, int64_t start_ns);

GAIT_CHECK int open_calls_push(struct open_calls *open, int64_t end_ns, uint64_t number);

#endif
