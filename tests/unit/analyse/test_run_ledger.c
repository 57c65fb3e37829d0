// SPDX-License-Identifier: Apache-2.0
// Where the time of marked steps went, by rows that are written down.
#define _GNU_SOURCE
#include "analyse/ledger/run_ledger.h"

#include "analyse/report/run_report.h"
#include "support/fact_splits.h"

enum { STEP = 1, LOAD, READ, WORK, MORE, OTHER, AROUND, LATE };

static const struct literal_site sites[] = {{"step", ""},     {"my", "load"},   {"my", "read"},
                                            {"my", "work"},   {"your", "more"}, {"my", "other"},
                                            {"my", "around"}, {"my", "late"},   {0}};

struct wanted {
    const char *name;
    uint64_t total_ns, parts;
};

static void is_ledger(struct gait_trace *trace, uint64_t total_ns, const struct wanted *wanted,
                      size_t count)
{
    struct run_report report;
    uint64_t sum_ns = 0;
    if (!ok(!run_report_make(&report, trace)))
        return;
    const struct report_ledger *ledger = &report.ledger;
    is_u64(ledger->total_ns, total_ns);
    is_u64(ledger->count, count);
    for (size_t i = 0; i < count && i < ledger->count; i++) {
        is_str(ledger->phases[i].name, wanted[i].name);
        is_u64(ledger->phases[i].total_ns, wanted[i].total_ns);
        is_u64(ledger->phases[i].parts, wanted[i].parts);
        sum_ns += wanted[i].total_ns;
    }
    is_u64(ledger->other_ns, total_ns - sum_ns);
    run_report_finish(&report);
}

// A phase has what is in steps; read, what began when load began, is in it; late has nothing, for
// load, which never ended, was there first; a thread without steps does not count.
static void look_at_steps(struct gait_trace *trace)
{
    static const struct wanted wanted[] = {
        {"work", 40 + 30, 2}, {"load", 30 + 30, 2}, {"more", 20, 1}, {"around", 10, 1}};
    is_ledger(trace, 100 + 100 + 50, wanted, 4);
}

TEST("run ledger: the outermost spans of steps share no instant, the rest is other")
{
    // step      |1------------------------|2------------------|      |3-----------|
    // thread 1   |load---|more--|work-------------|  |other|     |around|
    //            |read|                                                   |load...
    //                                                                       |late---|
    // thread 2  |work------------------------------------------------------------|
    static const struct literal_row rows[] = {{1, STEP, 0, 100, 1, 0, 0},
                                              {1, STEP, 100, 200, 2, 0, 0},
                                              {1, STEP, 250, 300, 3, 0, 0},
                                              {1, LOAD, 10, 40, 0, 0, 0},
                                              {1, READ, 10, 20, 0, 1, 0},
                                              {1, MORE, 40, 60, 0, 0, 0},
                                              {1, WORK, 60, 130, 0, 0, 0},
                                              {1, OTHER, 140, 150, 0, 0, 0},
                                              {1, AROUND, 205, 260, 0, 0, 0},
                                              {1, LOAD, 270, LITERAL_OPEN, 0, 0, 0},
                                              {1, LATE, 290, 320, 0, 1, 0},
                                              {2, WORK, 0, 300, 0, 0, 0},
                                              {0}};
    literal_each_split(sites, rows, look_at_steps);
}

static void look_at_run(struct gait_trace *trace)
{
    static const struct wanted wanted[] = {{"load", 40 + 30, 2}, {"work", 25, 1}};
    is_ledger(trace, 120, wanted, 2);
}

TEST("run ledger: without steps, the thread with most events from its begin to its end")
{
    // thread 1  |load----|     |load--|work---------|
    //             |read|           it begins before load ends, and has what is behind it
    // thread 2  |more------------------------------------|
    static const struct literal_row rows[] = {
        {1, LOAD, 0, 40, 0, 0, 0},   {1, READ, 10, 20, 0, 1, 0}, {1, LOAD, 60, 90, 0, 0, 0},
        {1, WORK, 80, 115, 0, 1, 0}, {2, MORE, 0, 120, 0, 0, 0}, {0}};
    literal_each_split(sites, rows, look_at_run);
}
