// SPDX-License-Identifier: Apache-2.0
// The steps of one thread, from the counters that its shard has.
#include "analyse/steps/step_clock.h"

#include "analyse/ledger/torch_phases.h"
#include "load/run.h"
#include "support/shard_builder.h"
#include "support/tap.h"

enum { TRACK = 3, CPU = 1, WAITS = 2 };

static void put_counters(struct shard_builder *builder, uint64_t site, uint32_t count,
                         const uint64_t *ticks, const uint64_t *values)
{
    uint64_t sites[16];
    for (uint32_t i = 0; i < count; i++)
        sites[i] = site;
    builder_put(builder, TABLE_COUNTER, TRACK, count,
                &(struct builder_rows){.columns = {ticks, sites, values},
                                       .first = ticks[0],
                                       .last = ticks[count - 1],
                                       .events = count});
}

static void describe(struct shard_builder *builder)
{
    builder_init(builder);
    builder_string(builder, 1, "torch");
    builder_string(builder, 2, "cpu");
    builder_string(builder, 3, "waits");
    builder_site(builder, CPU, 1, 2);
    builder_site(builder, WAITS, 1, 3);
    builder_track(builder, TRACK, "main", 0);
}

TEST("step_clock: a step begins where the one before ended, and has the waits told before its end")
{
    // of the first nothing tells the begin; the fourth ran longer than it lasted can be
    static const uint64_t ends[] = {1000, 1100, 1300, 1310, 1500};
    static const uint64_t cpu_ns[] = {50, 90, 40, 90, 190};
    static const uint64_t told[] = {1250, 1500}, waits[] = {7, 4};
    struct shard_builder builder;
    struct gait_trace trace;
    struct torch_phases phases;
    struct step_clock clock = {.count = 0};
    describe(&builder);
    put_counters(&builder, CPU, 5, ends, cpu_ns);
    put_counters(&builder, WAITS, 2, told, waits);
    builder_close(&builder);
    const struct slice shard = {builder.out.memory.bytes, builder.out.memory.used};
    if (!ok(!run_open_memory(&trace.run, shard)))
        return;
    ok(!torch_phases_init(&phases, &trace));
    ok(!step_clock_read(&clock, &trace, &phases, 0));
    is_u64(clock.count, 3);
    static const int64_t starts_wanted[] = {1000, 1100, 1310}, ends_wanted[] = {1100, 1300, 1500};
    static const uint64_t waits_wanted[] = {0, 7, 4};
    for (size_t i = 0; i < 3 && clock.count == 3; i++) {
        is_int(clock.rows[i].start_ns, starts_wanted[i]);
        is_int(clock.rows[i].end_ns, ends_wanted[i]);
        is_u64(clock.rows[i].waits, waits_wanted[i]);
    }
    step_clock_finish(&clock);
    torch_phases_finish(&phases);
    run_close(&trace.run);
    builder_finish(&builder);
}
