// SPDX-License-Identifier: Apache-2.0
// Cuts time into stretches of one state, while rows come in order of start: the bits of a
// state are the lanes that are busy.
//
//     sweep_until(&sweep, row->start_ns, visit, context)   the time before the row
//     sweep_add(&sweep, lane, row->end_ns)                 busy until then
#ifndef GAIT_FACTS_SWEEP_H
#define GAIT_FACTS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

enum { SWEEP_LANES = 12 };

struct sweep {
    unsigned lanes;
    bool is_begun;
    int64_t now_ns; // the time before is told
    int64_t busy_until_ns[SWEEP_LANES];
};

typedef void sweep_visit(void *context, unsigned state, int64_t from_ns, int64_t until_ns);

// The first call begins the time there.
void sweep_until(struct sweep *sweep, int64_t until_ns, sweep_visit *visit, void *context);

static inline void sweep_add(struct sweep *sweep, unsigned lane, int64_t end_ns)
{
    if (end_ns > sweep->busy_until_ns[lane])
        sweep->busy_until_ns[lane] = end_ns;
}

#endif
