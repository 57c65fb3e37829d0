// SPDX-License-Identifier: Apache-2.0
// Stretches of one state, beside a map of moments.
#include "facts/sweep.h"

#include "support/random_values.h"
#include "support/tap.h"

enum { MOMENTS = 64, LANES = 3 };

struct told {
    int64_t now_ns;
    uint8_t states[MOMENTS];
    unsigned wrong;
};

static void visit(void *context, unsigned state, int64_t from_ns, int64_t until_ns)
{
    struct told *told = context;
    told->wrong += from_ns != told->now_ns || until_ns <= from_ns;
    told->now_ns = until_ns;
    for (int64_t at = from_ns; at < until_ns; at++)
        told->states[at] = (uint8_t)state;
}

static unsigned random_wrong(struct random_values *values)
{
    uint8_t map[MOMENTS] = {0};
    struct told told = {.now_ns = 0};
    struct sweep sweep = {.lanes = LANES};
    int64_t start_ns = 0;
    sweep_until(&sweep, 0, visit, &told);
    for (size_t rows = random_below(values, 20); rows-- > 0;) {
        start_ns += (int64_t)random_below(values, 6);
        const int64_t end_ns = start_ns + (int64_t)random_below(values, 12);
        const unsigned lane = (unsigned)random_below(values, LANES);
        if (end_ns > MOMENTS)
            break;
        sweep_until(&sweep, start_ns, visit, &told);
        sweep_add(&sweep, lane, end_ns);
        for (int64_t at = start_ns; at < end_ns; at++)
            map[at] |= (uint8_t)(1 << lane);
    }
    sweep_until(&sweep, MOMENTS, visit, &told);
    return told.wrong + (told.now_ns != MOMENTS) + (memcmp(map, told.states, MOMENTS) != 0);
}

TEST("sweep: stretches follow each other without a gap, each of the lanes that are busy")
{
    struct random_values values = {88172645463325252u};
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++)
        wrong += random_wrong(&values);
    is_u64(wrong, 0);
}
