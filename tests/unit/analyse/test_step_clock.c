// SPDX-License-Identifier: Apache-2.0
// The steps of one thread, from the counters that its shard has.
#include "analyse/steps/step_clock.h"

#include "analyse/ledger/torch_phases.h"
#include "support/tap.h"

enum { CPU, WAITS };

static void add(struct step_clock *clock, uint32_t site, size_t count, const int64_t *ends,
                const int64_t *values)
{
    static uint8_t roles[] = {[CPU] = ROLE_STEP_CPU, [WAITS] = ROLE_STEP_WAITS};
    const struct torch_phases phases = {.site_roles = roles, .site_count = 2};
    for (size_t i = 0; i < count; i++) {
        const struct gait_batch batch = {
            .rows = 1, .start_ns = &ends[i], .site = &site, .value = &values[i]};
        ok(!step_clock_add(clock, &phases, &batch));
    }
}

TEST("step_clock: a step begins where the one before ended, and has the waits told before its end")
{
    // of the first nothing tells the begin; the fourth ran longer than it can have lasted
    static const int64_t ends[] = {1000, 1100, 1300, 1310, 1500};
    static const int64_t cpu_ns[] = {50, 90, 40, 90, 190};
    static const int64_t told[] = {1250, 1500}, waits[] = {7, 4};
    static const struct clocked_step wanted[] = {
        {1000, 1100, 90, 0, false}, {1100, 1300, 40, 7, false}, {1310, 1500, 190, 4, false}};
    struct step_clock clock = {.count = 0};
    add(&clock, CPU, 5, ends, cpu_ns);
    add(&clock, WAITS, 2, told, waits);
    step_clock_settle(&clock);
    is_u64(clock.count, 3);
    for (size_t i = 0; i < 3 && clock.count == 3; i++) {
        is_int(clock.rows[i].start_ns, wanted[i].start_ns);
        is_int(clock.rows[i].end_ns, wanted[i].end_ns);
        is_int(clock.rows[i].cpu_ns, wanted[i].cpu_ns);
        is_u64(clock.rows[i].waits, wanted[i].waits);
    }
    step_clock_finish(&clock);
}
