// SPDX-License-Identifier: Apache-2.0
// The states of a rank's devices and why they were idle: cases worked out by hand, and
// random ones beside a map of 64 moments.
#define _GNU_SOURCE
#include "analyse/device/device_run.h"
#include "analyse/device/device_sweep.h"
#include "support/fact_splits.h"
#include "support/random_values.h"

enum { KERNEL = 1, COMM, COPY, LAUNCH, DRIVER, STEP, OTHER_STEP, INPUT, SYNC, COPY_CALL };

static const struct literal_site sites[] = {{"kernel", "k"},
                                            {"kernel", "ncclKernel"},
                                            {"gpu_memcpy", "Memcpy HtoD (Pageable -> Device)"},
                                            {"cuda_runtime", "launch"},
                                            {"cuda_driver", "launch"},
                                            {"user_annotation", "ProfilerStep#1"},
                                            {"user_annotation", "ProfilerStep#2"},
                                            {"phase", "input"},
                                            {"cuda_runtime", "cudaDeviceSynchronize"},
                                            {"cuda_runtime", "cudaMemcpyAsync"},
                                            {0}};

// The only rank of a trace.
static const struct breakdown_rank *break_down(struct device_run *run, struct gait_trace *trace)
{
    const bool is_made = !device_run_make(run, trace, NULL) && run->count == 1;
    ok(is_made);
    return is_made ? run->ranks : NULL;
}

static void look(struct gait_trace *trace)
{
    struct device_run run;
    const struct breakdown_rank *made = break_down(&run, trace);
    if (!made)
        return;
    const uint64_t *state = made->whole.state_ns, *idle = made->whole.idle_ns;
    is_u64(made->whole.span_ns, 86000);
    is_u64(state[1 << LANE_COMPUTE], 5000 + 10000 + 5000);
    is_u64(state[1 << LANE_COMPUTE | 1 << LANE_COMM], 3000 + 2000);
    is_u64(state[1 << LANE_COMM], 10000);
    is_u64(state[1 << LANE_COPY], 8000);
    is_u64(state[0], 2000 + 20000 + 20000 + 1000);
    is_u64(made->small, 2); // of 5000 and of none; communication is no kernel of this kind
    is_u64(made->small_ns, 5000);
    is_u64(made->pageable, 1);
    is_u64(made->pageable_ns, 8000);
    is_u64(idle[IDLE_GAP], 2000);
    is_u64(idle[IDLE_HOST_LATE], 15000 + 1000); // and the last: nothing was launched any more
    is_u64(idle[IDLE_LAUNCH], 5000);
    is_u64(idle[IDLE_DEPENDENCY], 20000);
    is_u64(idle[IDLE_UNKNOWN], 0);
    is_u64(breakdown_time(&made->whole, 1 << LANE_COMM, 1 << LANE_COMPUTE), 10000);
    if (is_u64(made->step_count, 2)) {
        is_u64(made->steps[0].breakdown.state_ns[0], 5000 + 2000 + 5000);
        is_u64(made->steps[0].breakdown.idle_ns[IDLE_LAUNCH], 5000); // until the first begins
        is_u64(made->steps[1].breakdown.span_ns, 54000);
        is_u64(made->steps[1].breakdown.idle_ns[IDLE_HOST_LATE], 10000 + 4000);
    }
    device_run_finish(&run);
}

TEST("breakdown: a rank worked out by hand")
{
    static const struct literal_row rows[] = {
        {101, KERNEL, 10000, 20000, 1, 0, 0},
        {101, COMM, 15000, 18000, 2, 0, 1}, // communication under it
        {101, COMM, 18000, 30000, 2, 0, 1}, // and on its own from 20000 on
        {101, COPY, 32000, 40000, 3, 0, 0}, // launched long ago: 2000 behind the one before
        {101, KERNEL, 60000, 70000, 4, 0,
         0}, // launched at 50000 to 55000: 15000 late, 5000 on its way
        {101, KERNEL, 90000, 95000, 5, 0, 0}, // launched before 70000, and yet 20000 later
        {101, KERNEL, 96000, 96000, 0, 0, 0}, // no time, but the end of the span
        {1, LAUNCH, 1000, 2000, 1, 0, 0},
        {1, LAUNCH, 2000, 3000, 2, 0, 0},
        {1, LAUNCH, 3000, 4000, 3, 0, 0},
        {1, LAUNCH, 50000, 55000, 4, 0, 1},
        {1, DRIVER, 51000, 52000, 4, 1, 1}, // the driver's call within
        {1, LAUNCH, 65000, 66000, 5, 0, 1},
        {2, STEP, 5000, 45000, 0, 0, 0},
        {3, STEP, 5000, 45000, 0, 0, 0}, // the same as an annotation
        {2, OTHER_STEP, 45000, 99000, 0, 0, 0},
        {0}};
    literal_each_split(sites, rows, look);
}

static void look_at_devices(struct gait_trace *trace)
{
    struct device_run run;
    const struct breakdown_rank *made = break_down(&run, trace);
    if (!made)
        return;
    is_u64(made->whole.span_ns, 8500);
    is_u64(made->whole.state_ns[0], 6000);
    is_u64(made->whole.waiting_ns[WAIT_INPUT], 1000);
    is_u64(made->whole.waiting_ns[WAIT_DEVICE], 3000);
    if (is_u64(made->device_count, 2)) {
        const struct breakdown_device *first = &made->devices[0], *second = &made->devices[1];
        is_int(first->device, 0);
        is_u64(first->events[LANE_COPY], 1);
        is_u64(first->whole.span_ns, 8500);
        is_u64(first->whole.state_ns[1 << LANE_COMPUTE], 1000);
        is_u64(first->whole.state_ns[1 << LANE_COPY], 500);
        is_u64(first->whole.idle_ns[IDLE_UNKNOWN], 7000); // its launch is not on record
        is_u64(first->whole.waiting_ns[WAIT_DEVICE], 2900 + 1000);
        is_int(second->device, 1);
        is_u64(second->whole.span_ns, 8500);
        is_u64(second->whole.state_ns[0], 500 + 6500);
        is_u64(second->whole.idle_ns[IDLE_UNKNOWN], 500);
        is_u64(second->whole.idle_ns[IDLE_HOST_LATE], 6500); // nothing came any more
    }
    device_run_finish(&run);
}

TEST("breakdown: devices apart, each over the rank's own time")
{
    static const struct literal_row rows[] = {
        {101, KERNEL, 1000, 2000, 0, 0, 0}, {102, KERNEL, 1500, 3000, 0, 0, 0},
        {1, SYNC, 2100, 7000, 0, 0, 0},     {1, INPUT, 5000, 6000, 0, 0, 0},
        {101, COPY, 9000, 9500, 0, 0, 0},   {0}};
    literal_each_split(sites, rows, look_at_devices);
}

static void look_at_copies(struct gait_trace *trace)
{
    struct device_run run;
    const struct breakdown_rank *made = break_down(&run, trace);
    if (!made)
        return;
    is_u64(made->whole.waiting_ns[WAIT_DEVICE], 2900000 - 1100000);
    device_run_finish(&run);
}

TEST("breakdown: who copies for a millisecond waits for the device, as in a ledger of turns")
{
    static const struct literal_row rows[] = {{101, KERNEL, 0, 1000000, 0, 0, 0},
                                              {1, COPY_CALL, 1100000, 2900000, 0, 0, 0},
                                              {1, COPY_CALL, 2950000, 2999000, 0, 0, 0},
                                              {101, COPY, 3000000, 3100000, 0, 0, 0},
                                              {0}};
    literal_each_split(sites, rows, look_at_copies);
}

TEST("breakdown: several windows add up, what lies between them is nobody's")
{
    // work    |---|  |--|                  |--|
    // windows |  0      |                  | 1|    the first is said to end twice
    struct device_sweep sweep;
    device_sweep_init(&sweep);
    struct device_work work = {1000, 2000, LANE_COMPUTE, NULL};
    int wrong = 0;
    device_sweep_until(&sweep, 1000);
    wrong |= device_sweep_open(&sweep);
    device_sweep_add(&sweep, &work);
    device_sweep_until(&sweep, 2000);
    wrong |= device_sweep_last(&sweep, 0);
    device_sweep_until(&sweep, 4000);
    work = (struct device_work){4000, 5000, LANE_COMM, NULL};
    device_sweep_add(&sweep, &work);
    device_sweep_until(&sweep, 5000);
    wrong |= device_sweep_last(&sweep, 0);
    device_sweep_until(&sweep, 90000);
    wrong |= device_sweep_open(&sweep);
    work = (struct device_work){90000, 91000, LANE_COPY, NULL};
    device_sweep_add(&sweep, &work);
    device_sweep_until(&sweep, 91000);
    wrong |= device_sweep_last(&sweep, 1);
    device_sweep_finish(&sweep);
    is_int(wrong, 0);
    is_u64(sweep.whole.span_ns, 4000 + 1000);
    is_u64(sweep.whole.state_ns[DEVICE_COMPUTE], 1000);
    is_u64(sweep.whole.state_ns[DEVICE_COMM], 1000);
    is_u64(sweep.whole.state_ns[DEVICE_COPY], 1000);
    is_u64(sweep.whole.state_ns[0], 2000);
    is_u64(sweep.whole.idle_ns[IDLE_UNKNOWN], 2000);
    device_sweep_free(&sweep);
}

static void look_at_steps(struct gait_trace *trace)
{
    struct device_run run;
    const struct breakdown_rank *made = break_down(&run, trace);
    if (!made)
        return;
    if (is_u64(made->step_count, 2)) {
        const struct breakdown *first = &made->steps[0].breakdown,
                               *second = &made->steps[1].breakdown;
        is_u64(first->span_ns, 90);
        is_u64(first->idle_ns[IDLE_HOST_LATE], 20 + 40); // until it was launched; then no more came
        is_u64(first->idle_ns[IDLE_LAUNCH], 10);
        is_u64(second->span_ns, 100);
        is_u64(second->idle_ns[IDLE_HOST_LATE], 100);
    }
    is_u64(made->whole.span_ns, 20);
    device_run_finish(&run);
}

TEST("breakdown: a run's own step may begin before a device did anything, or last longer")
{
    static const struct literal_row rows[] = {
        {1, STEP, 10, 100, 0, 0, 0},           {1, LAUNCH, 20, 30, 1, 0, 0},
        {101, KERNEL, 40, 60, 1, 0, 0},        {1, OTHER_STEP, 200, 300, 0, 0, 0},
        {1, STEP, 400, LITERAL_OPEN, 0, 0, 0}, {0}};
    literal_each_split(sites, rows, look_at_steps);
}

// Of the rank the span is of both devices; each has it for its own.
static void look_at_ages(struct gait_trace *trace)
{
    struct device_run run;
    const struct breakdown_rank *made = break_down(&run, trace);
    if (!made)
        return;
    const uint64_t span_ns = (uint64_t)INT64_MAX - 1 - 100;
    is_u64(made->whole.span_ns, span_ns);
    is_u64(made->whole.state_ns[DEVICE_COMPUTE], 100);
    is_u64(made->whole.state_ns[DEVICE_COMPUTE | DEVICE_COMM], span_ns - 100);
    is_u64(made->whole.state_ns[0], 0);
    if (is_u64(made->device_count, 2)) {
        is_u64(made->devices[0].whole.state_ns[DEVICE_COMPUTE], span_ns);
        is_u64(made->devices[1].whole.state_ns[DEVICE_COMM], span_ns - 100);
        is_u64(made->devices[1].whole.idle_ns[IDLE_UNKNOWN], 100);
    }
    if (is_u64(made->step_count, 1)) {
        is_u64(made->steps[0].breakdown.span_ns, INT64_MAX - 1);
        is_u64(made->steps[0].breakdown.idle_ns[IDLE_HOST_LATE], 60); // until the call ends
        is_u64(made->steps[0].breakdown.idle_ns[IDLE_LAUNCH], 40);
    }
    device_run_finish(&run);
}

TEST("breakdown: work of 292 years on two devices")
{
    // step      |1---------------------------------...
    // thread      |call 1|
    // device 0           |k 1----------------------...
    // device 1              |nccl------------------...
    static const struct literal_row rows[] = {{1, STEP, 0, INT64_MAX - 1, 0, 0, 0},
                                              {1, LAUNCH, 50, 60, 1, 1, 0},
                                              {101, KERNEL, 100, INT64_MAX - 1, 1, 0, 0},
                                              {102, COMM, 200, INT64_MAX - 1, 0, 0, 0},
                                              {0}};
    literal_each_split(sites, rows, look_at_ages);
}

// --- anything ---------------------------------------------------------------------------

enum { MOMENTS = 64, MOST_EVENTS = 12, MOST_STEPS = 4 };

struct picture {
    uint64_t lanes[LANE_COUNT];
    int64_t first, last;
};

static size_t draw(struct random_values *values, struct literal_row *rows, struct picture *picture)
{
    const size_t count = 1 + random_below(values, MOST_EVENTS - 1),
                 steps = random_below(values, MOST_STEPS);
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t start = (int64_t)random_below(values, 56),
                      end = start + (int64_t)random_below(values, 6),
                      launch = (int64_t)random_below(values, (uint64_t)start + 1);
        const uint32_t lane = (uint32_t)random_below(values, LANE_COUNT);
        rows[made++] = (struct literal_row){.track = 101,
                                            .site = KERNEL + lane,
                                            .start_ns = start,
                                            .end_ns = end,
                                            .link = random_below(values, MOST_EVENTS)};
        rows[made++] = (struct literal_row){.track = 1,
                                            .site = LAUNCH,
                                            .start_ns = launch,
                                            .end_ns = launch + 2,
                                            .link = random_below(values, MOST_EVENTS)};
        for (int64_t at = start; at < end; at++)
            picture->lanes[lane] |= (uint64_t)1 << at;
        picture->first = start < picture->first ? start : picture->first;
        picture->last = end > picture->last ? end : picture->last;
    }
    for (size_t i = 0; i < steps; i++) {
        const int64_t start = (int64_t)random_below(values, 50);
        rows[made++] = (struct literal_row){.track = 2,
                                            .site = STEP + (uint32_t)random_below(values, 2),
                                            .start_ns = start,
                                            .end_ns = start + (int64_t)random_below(values, 14)};
    }
    rows[made] = (struct literal_row){0};
    return steps;
}

static unsigned wrong_within(const struct picture *picture, const struct breakdown *told,
                             int64_t first, int64_t last)
{
    uint64_t idle = 0;
    unsigned wrong = told->span_ns != (uint64_t)(last - first);
    for (unsigned state = 0; state < DEVICE_STATES; state++) {
        uint64_t moments = 0;
        for (int64_t at = first; at < last; at++) {
            unsigned here = 0;
            for (unsigned lane = 0; lane < LANE_COUNT; lane++)
                here |= (unsigned)(picture->lanes[lane] >> at & 1) << lane;
            moments += here == state;
        }
        wrong += told->state_ns[state] != moments;
    }
    for (unsigned cause = 0; cause < IDLE_CAUSES; cause++)
        idle += told->idle_ns[cause];
    return wrong + (idle != told->state_ns[0]);
}

static unsigned random_wrong(struct random_values *values)
{
    struct literal_row rows[2 * MOST_EVENTS + MOST_STEPS + 1];
    struct picture picture = {.first = MOMENTS};
    struct literal_rank rank;
    struct device_run run;
    const size_t steps = draw(values, rows, &picture);
    literal_open(&rank, sites, rows);
    unsigned wrong = device_run_make(&run, &rank.trace, NULL) != GAIT_OK;
    const struct breakdown_rank *made = run.ranks;
    wrong += wrong_within(&picture, &made->whole, picture.first, picture.last);
    wrong += made->step_count > steps;
    for (size_t i = 0; i < made->step_count; i++) {
        const int64_t start = made->steps[i].start_ns;
        wrong += wrong_within(&picture, &made->steps[i].breakdown, start,
                              start + (int64_t)made->steps[i].breakdown.span_ns);
    }
    device_run_finish(&run);
    literal_close(&rank);
    return wrong;
}

TEST("breakdown: states and causes sum to the span, whatever the trace says")
{
    struct random_values values = {88172645463325252u};
    unsigned wrong = 0;
    for (int i = 0; i < 10000; i++)
        wrong += random_wrong(&values);
    is_u64(wrong, 0);
}
