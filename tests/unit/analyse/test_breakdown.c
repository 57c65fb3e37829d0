// SPDX-License-Identifier: Apache-2.0
// The states of a rank's devices and why they were idle: a case worked out by hand, and
// random ones beside a map of 64 moments.
#include "analyse/device/breakdown.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { CALL = 1000 };

// Sites 0 to 2 are one for each lane.
static uint8_t lanes[] = {LANE_COMPUTE, LANE_COMM, LANE_COPY};

static struct device_window window; // of all events

static struct device_rows rows_of(struct device_event *events, size_t count,
                                  struct device_event *calls, size_t call_count)
{
    struct device_rows rows = {.events = {events, count, 0},
                               .calls = {calls, call_count, 0},
                               .windows = &window,
                               .window_count = 1,
                               .kinds = lanes,
                               .site_count = 3};
    window = (struct device_window){0, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        window.start_ns =
            events[i].start_ns < window.start_ns ? events[i].start_ns : window.start_ns;
        window.end_ns = events[i].end_ns > window.end_ns ? events[i].end_ns : window.end_ns;
    }
    device_rows_sort(&rows);
    return rows;
}

TEST("breakdown: a rank worked out by hand")
{
    struct device_event events[] = {
        {10000, 20000, 1, 0, 0}, // computes
        {15000, 18000, 2, 1, 1}, // communication under it
        {18000, 30000, 2, 1, 1}, // and on its own from 20000 on
        {32000, 40000, 3, 0, 2}, // a copy, launched long ago: 2000 behind the one before
        {60000, 70000, 4, 0, 0}, // launched at 50000 to 55000: 15000 late, 5000 on its way
        {90000, 95000, 5, 0, 0}, // launched before 70000, and yet 20000 later
        {96000, 96000, 0, 0, 0}, // no time, but the end of the span
    };
    struct device_event calls[] = {
        {1000, 2000, 1, 9, CALL},   {2000, 3000, 2, 9, CALL},   {3000, 4000, 3, 9, CALL},
        {50000, 55000, 4, 9, CALL}, {51000, 52000, 4, 9, CALL}, // the driver's call within
        {65000, 66000, 5, 9, CALL},
    };
    struct device_rows rows = rows_of(events, 7, calls, 6);
    struct device_step steps[] = {{5000, 45000, "ProfilerStep#1"}, {45000, 99000, "b"}};
    rows.steps = steps;
    rows.step_count = 2;
    struct breakdown_rank rank;
    if (!ok(!breakdown_rank_make(&rank, &rows)))
        return;
    const uint64_t *state = rank.whole.state_ns, *idle = rank.whole.idle_ns;
    is_u64(rank.whole.span_ns, 86000);
    is_u64(state[1 << LANE_COMPUTE], 5000 + 10000 + 5000);
    is_u64(state[1 << LANE_COMPUTE | 1 << LANE_COMM], 5000);
    is_u64(state[1 << LANE_COMM], 10000);
    is_u64(state[1 << LANE_COPY], 8000);
    is_u64(state[0], 2000 + 20000 + 20000 + 1000);
    is_u64(idle[IDLE_GAP], 2000);
    is_u64(idle[IDLE_HOST_LATE], 15000 + 1000); // and the last: nothing was launched any more
    is_u64(idle[IDLE_LAUNCH], 5000);
    is_u64(idle[IDLE_DEPENDENCY], 20000);
    is_u64(idle[IDLE_UNKNOWN], 0);
    is_u64(breakdown_time(&rank.whole, 1 << LANE_COMM, 1 << LANE_COMPUTE), 10000);
    is_u64(rank.step_count, 2);
    is_u64(rank.steps[0].breakdown.state_ns[0], 5000 + 2000 + 5000);
    is_u64(rank.steps[0].breakdown.idle_ns[IDLE_LAUNCH], 5000); // until the first begins
    is_u64(rank.steps[1].breakdown.span_ns, 54000);
    is_u64(rank.steps[1].breakdown.idle_ns[IDLE_HOST_LATE], 10000 + 4000);
    breakdown_rank_finish(&rank);
}

TEST("breakdown: several windows add up, what lies between them is nobody's, devices apart")
{
    struct device_event events[] = {
        {1000, 2000, 0, 0, 0},
        {1500, 3000, 0, 1, 0}, // two devices; first window
        {51000, 52000, 0, 0, 2},
        {54000, 55000, 0, 0, 0}, // the second
    };
    int32_t devices[] = {0, 1};
    struct device_rows rows = rows_of(events, 4, NULL, 0);
    struct device_window windows[] = {{0, 1000, 3000}, {1, 51000, 55000}};
    rows.windows = windows;
    rows.window_count = 2;
    rows.devices = devices;
    rows.track_count = 2;
    struct breakdown_rank rank;
    if (!ok(!breakdown_rank_make(&rank, &rows)))
        return;
    is_u64(rank.whole.span_ns, 2000 + 4000);
    is_u64(rank.whole.state_ns[1 << LANE_COMPUTE], 2000 + 1000);
    is_u64(rank.whole.state_ns[1 << LANE_COPY], 1000);
    is_u64(rank.whole.state_ns[0], 2000);
    if (is_u64(rank.device_count, 2)) {
        is_int(rank.devices[0].device, 0);
        is_u64(rank.devices[0].whole.span_ns, 6000);
        is_u64(rank.devices[0].whole.state_ns[1 << LANE_COMPUTE], 1000 + 1000);
        is_u64(rank.devices[0].whole.state_ns[0], 1000 + 2000);
        is_u64(rank.devices[1].whole.span_ns, 6000);
        is_u64(rank.devices[1].whole.state_ns[1 << LANE_COMPUTE], 1500);
        is_u64(rank.devices[1].whole.state_ns[0], 500 + 4000);
        is_u64(rank.devices[1].whole.idle_ns[IDLE_HOST_LATE], 4000); // nothing came any more
    }
    breakdown_rank_finish(&rank);
}

static unsigned random_wrong(struct random_values *values)
{
    enum { MOST = 12 };
    struct device_event events[MOST], calls[MOST];
    uint64_t maps[LANE_COUNT] = {0}, sum = 0, idle = 0;
    const size_t count = 1 + random_below(values, MOST - 1);
    int64_t first = 64, last = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t start = (int64_t)random_below(values, 60),
                      end = start + (int64_t)random_below(values, 5);
        const uint32_t lane = (uint32_t)random_below(values, LANE_COUNT);
        const int64_t launch = (int64_t)random_below(values, (uint64_t)start + 1);
        events[i] = (struct device_event){start, end, random_below(values, MOST), 0, lane};
        calls[i] = (struct device_event){launch, launch + 2, random_below(values, MOST), 1, CALL};
        for (int64_t at = start; at < end; at++)
            maps[lane] |= (uint64_t)1 << at;
        first = start < first ? start : first;
        last = end > last ? end : last;
    }
    struct device_rows rows = rows_of(events, count, calls, count);
    struct breakdown_rank rank;
    unsigned wrong = breakdown_rank_make(&rank, &rows) != GAIT_OK;
    for (unsigned state = 0; state < DEVICE_STATES; state++) {
        uint64_t moments = 0;
        for (int64_t at = first; at < last; at++)
            moments += ((maps[0] >> at & 1) | (maps[1] >> at & 1) << 1 |
                        (maps[2] >> at & 1) << 2) == state;
        wrong += rank.whole.state_ns[state] != moments;
        sum += rank.whole.state_ns[state];
    }
    for (unsigned cause = 0; cause < IDLE_CAUSES; cause++)
        idle += rank.whole.idle_ns[cause];
    wrong += sum != rank.whole.span_ns || idle != rank.whole.state_ns[0];
    breakdown_rank_finish(&rank);
    return wrong;
}

TEST("breakdown: states and causes sum to the span, whatever the trace says")
{
    struct random_values values = {88172645463325252u};
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++)
        wrong += random_wrong(&values);
    is_u64(wrong, 0);
}
