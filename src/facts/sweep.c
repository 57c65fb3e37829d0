// SPDX-License-Identifier: Apache-2.0
#include "facts/sweep.h"

#include "base/invariant.h"

static void begin(struct sweep *sweep, int64_t at_ns)
{
    sweep->is_begun = true;
    sweep->now_ns = at_ns;
    for (unsigned i = 0; i < sweep->lanes; i++)
        sweep->busy_until_ns[i] = at_ns;
}

void sweep_until(struct sweep *sweep, int64_t until_ns, sweep_visit *visit, void *context)
{
    GAIT_ASSERT(sweep->lanes <= SWEEP_LANES);
    if (!sweep->is_begun)
        begin(sweep, until_ns);
    while (sweep->now_ns < until_ns) {
        int64_t end_ns = until_ns;
        unsigned state = 0;
        for (unsigned i = 0; i < sweep->lanes; i++) {
            if (sweep->busy_until_ns[i] <= sweep->now_ns)
                continue;
            state |= 1u << i;
            end_ns = sweep->busy_until_ns[i] < end_ns ? sweep->busy_until_ns[i] : end_ns;
        }
        visit(context, state, sweep->now_ns, end_ns);
        sweep->now_ns = end_ns;
    }
}
