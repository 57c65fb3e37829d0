// SPDX-License-Identifier: Apache-2.0
// Turns, periods and what they hold: a loop drawn by hand.
#define _GNU_SOURCE
#include "analyse/device/turns.h"

#include <math.h>

#include "support/fact_splits.h"

enum { KERNEL = 1, COMM, COPY, LAUNCH, SYNC, MALLOC, OP, PYTHON, LOADER, STEP, NEXT_STEP };

static const struct literal_site sites[] = {
    {"kernel", "k"},
    {"kernel", "ncclKernel"},
    {"gpu_memcpy", "copy"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"cuda_runtime", "cudaStreamSynchronize"},
    {"cuda_runtime", "cudaMalloc"},
    {"cpu_op", "aten::mm"},
    {"python_function", "f"},
    {"user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
    {"user_annotation", "ProfilerStep#3"},
    {"user_annotation", "ProfilerStep#4"},
    {0}};

// step   |3-----------------|    |4-----------------|
// host   |loader|op------|  sync |py---|op----|malloc|
//                 |call 1|             |call 2|
// device                 |k 1| |nccl|copy|       |k 2----|
// thread 2 |op------------------------------------|         it launches nothing
static const struct literal_row rows[] = {{1, STEP, 1000, 2000, 0, 0, 0},
                                          {1, LOADER, 1000, 1300, 0, 1, 0},
                                          {1, OP, 1300, 1700, 0, 1, 0},
                                          {1, LAUNCH, 1600, 1650, 1, 2, 0},
                                          {1, SYNC, 1900, 2100, 0, 1, 0},
                                          {1, NEXT_STEP, 2200, 3000, 0, 0, 0},
                                          {1, PYTHON, 2200, 2400, 0, 1, 0},
                                          {1, OP, 2500, 2700, 0, 1, 0},
                                          {1, LAUNCH, 2600, 2650, 2, 2, 0},
                                          {1, MALLOC, 2800, 2950, 0, 1, 0},
                                          {2, OP, 900, 2900, 0, 0, 0},
                                          {101, KERNEL, 1700, 1850, 1, 0, 0},
                                          {101, COMM, 1950, 2050, 0, 0, 0},
                                          {101, COPY, 2050, 2150, 0, 0, 0},
                                          {101, KERNEL, 2900, 3400, 2, 0, 0},
                                          {101, KERNEL, 3600, 3700, 9, 0, 0}, // of no step
                                          {0}};

static void sums_are(const struct turn_sums *sums, const uint64_t *wanted)
{
    for (unsigned i = 0; i < TURN_PARTS; i++)
        is_u64(sums->ns[i], wanted[i]);
}

static void look(struct gait_trace *trace)
{
    struct turns turns;
    if (!ok(!turns_make(&turns, trace, NULL)) || !is_u64(turns.count, 1) ||
        !is_u64(turns.ranks[0].count, 2))
        return;
    const struct turn *first = &turns.ranks[0].turns[0], *second = &turns.ranks[0].turns[1];
    is_str(first->name, "ProfilerStep#3");
    is_u64(first->number, 3);
    is_int(first->host_end_ns, 2000);
    is_int(first->end_ns, 2200);
    // computing, comm, copies; input, blocking, alloc, launch, op, python; nothing
    sums_are(&first->sums, (const uint64_t[]){150, 100, 100, 300, 50, 0, 50, 350, 0, 100});
    is_int(second->end_ns, 3400);
    is_u64(second->period_ns, 3400 - 2000);
    sums_are(&second->sums, (const uint64_t[]){500, 0, 0, 0, 0, 100, 50, 150, 200, 200});
    sums_are(&turns.ranks[0].sums,
             (const uint64_t[]){650, 100, 100, 300, 50, 100, 100, 500, 200, 300});
    if (is_u64(turns.ranks[0].device_count, 1))
        ok(turns.ranks[0].devices[0].sums.busy_ns == 150 + 100 + 500);
    turns_finish(&turns);
}

TEST("turns: what each moment of a loop is, and when its steps end")
{
    literal_each_split(sites, rows, look);
}

static void look_beside(struct gait_trace *trace)
{
    struct turns turns, sums = {.ranks = NULL};
    const struct fact_ask ask = {&turns_consumer, &sums};
    if (!ok(!turns_make(&turns, trace, NULL)) || !ok(!facts_run(trace, &ask, 1)) ||
        !is_u64(sums.count, 1))
        return;
    const struct turn_rank *kept = &turns.ranks[0], *summed = &sums.ranks[0];
    is_u64(summed->count, 0);
    is_u64(summed->steps, 2);
    is_u64(summed->total_ns, 3400 - 1000);
    is_u64(summed->host_ns, 1000 + 800);
    is_u64(kept->steps, 2);
    is_u64(kept->total_ns, 3400 - 1000);
    is_u64(summed->told_ns, kept->told_ns);
    sums_are(&summed->sums, kept->sums.ns);
    turns_finish(&turns);
    turns_finish(&sums);
}

TEST("turns: who reads them beside others has the same sums, and keeps none")
{
    literal_each_split(sites, rows, look_beside);
}

static void look_at_nested(struct gait_trace *trace)
{
    struct turns turns;
    if (!ok(!turns_make(&turns, trace, NULL)) || !is_u64(turns.ranks[0].count, 3))
        return;
    const struct turn *turn = turns.ranks[0].turns;
    is_int(turn[0].device_end_ns, 180); // the first that had not ended
    is_int(turn[1].device_end_ns == INT64_MIN, 1);
    is_u64(turn[1].period_ns, 0);
    is_u64(turn[2].period_ns, 310 - 180);
    is_int(turn[2].end_ns, 310);
    turns_finish(&turns);
}

TEST("turns: what is given behind the last step is of no turn, steps in each other end in time")
{
    // step 3 |----------------------|                        it holds step 4
    // step 4      |--|                  |--|  again, later
    // host                 |call 1|            |call 2|
    // device                    |k 1----|         |k 2---|
    static const struct literal_row nested[] = {
        {1, STEP, 0, 100, 0, 0, 0},        {1, NEXT_STEP, 50, 60, 0, 1, 0},
        {2, LAUNCH, 70, 75, 1, 0, 0},      {101, KERNEL, 80, 180, 1, 0, 0},
        {1, STEP, 300, 310, 0, 0, 0},      {2, LAUNCH, 500, 510, 2, 0, 0},
        {101, KERNEL, 600, 1000, 2, 0, 0}, {0}};
    literal_each_split(sites, nested, look_at_nested);
}

static void look_at_open(struct gait_trace *trace)
{
    struct turns turns;
    if (!ok(!turns_make(&turns, trace, NULL)) || !is_u64(turns.ranks[0].count, 1))
        return;
    is_u64(turns.ranks[0].turns[0].sums.ns[ACTIVITY_OP], 10);
    turns_finish(&turns);
}

TEST("turns: an op that never ended hides none that follow it")
{
    static const struct literal_row open[] = {
        {1, STEP, 0, 100, 0, 0, 0}, {1, OP, 0, LITERAL_OPEN, 0, 1, 0}, {1, LAUNCH, 10, 12, 1, 2, 0},
        {1, OP, 20, 30, 0, 2, 0},   {101, KERNEL, 90, 95, 1, 0, 0},    {0}};
    literal_each_split(sites, open, look_at_open);
}

TEST("turns: hundreds follow each other")
{
    enum { STEPS = 300 };
    static struct literal_row many[STEPS + 1];
    struct literal_rank rank;
    struct turns turns;
    unsigned wrong = 0;
    for (int i = 0; i < STEPS; i++)
        many[i] = (struct literal_row){1, i % 2 ? STEP : NEXT_STEP, 10 * i, 10 * i + 8, 0, 0, 0};
    literal_open(&rank, sites, many);
    if (!ok(!turns_make(&turns, &rank.trace, NULL)) || !is_u64(turns.ranks[0].count, STEPS))
        return;
    for (int i = 0; i < STEPS; i++)
        wrong += turns.ranks[0].turns[i].sums.ns[TURN_NOTHING] != (i + 1 < STEPS ? 10 : 8);
    is_u64(wrong, 0);
    turns_finish(&turns);
    literal_close(&rank);
}

TEST("turns: a trace without steps has none")
{
    const struct literal_row kernel[] = {{101, KERNEL, 1700, 1850, 1, 0, 0}, {0}};
    struct literal_rank rank;
    struct turns turns;
    literal_open(&rank, sites, kernel);
    ok(!turns_make(&turns, &rank.trace, NULL));
    is_u64(turns.count, 0);
    turns_finish(&turns);
    literal_close(&rank);
}

// --- devices by host ------------------------------------------------------------------------

enum { HOST_NOTHING = TURN_NOTHING };

struct cell {
    unsigned state, host;
    uint64_t ns; // 0: the last one
};

// Every other cell is 0.
static void activity_is(const struct turns *turns, enum activity_base base,
                        const struct cell *wanted)
{
    if (!is_u64(turns->activity_count, 1))
        return;
    struct activity_sums left = turns->activities[0].sums;
    is_u64(turns->activities[0].base, base);
    for (; wanted->ns; wanted++) {
        uint64_t *ns = &left.ns[wanted->state][wanted->host - LANE_COUNT];
        is_u64(*ns, wanted->ns);
        *ns = 0;
    }
    is_u64(activity_sums_total(&left), 0);
}

static void look_at_activity(struct gait_trace *trace)
{
    struct turns turns;
    if (!ok(!turns_make(&turns, trace, NULL)))
        return;
    activity_is(&turns, ACTIVITY_OF_TURNS,
                (const struct cell[]){{LANE_COMPUTE, HOST_NOTHING, 150 + 450},
                                      {LANE_COMPUTE, ACTIVITY_ALLOC, 50},
                                      {LANE_COMM, ACTIVITY_BLOCKING, 100},
                                      {LANE_COPY, ACTIVITY_BLOCKING, 50},
                                      {LANE_COPY, HOST_NOTHING, 50},
                                      {ACTIVITY_IDLE, ACTIVITY_INPUT, 300},
                                      {ACTIVITY_IDLE, ACTIVITY_BLOCKING, 50},
                                      {ACTIVITY_IDLE, ACTIVITY_ALLOC, 100},
                                      {ACTIVITY_IDLE, ACTIVITY_LAUNCH, 50 + 50},
                                      {ACTIVITY_IDLE, ACTIVITY_OP, 350 + 150},
                                      {ACTIVITY_IDLE, ACTIVITY_PYTHON, 200},
                                      {ACTIVITY_IDLE, HOST_NOTHING, 100 + 200},
                                      {0}});
    is_u64(turns.activities[0].steps, 2);
    turns_finish(&turns);
}

TEST("activity: the turns, by what devices did and the host did meanwhile")
{
    literal_each_split(sites, rows, look_at_activity);
}

// The same without its steps: from the first work to the end of the last.
static const struct literal_row *without_steps(void)
{
    static struct literal_row kept[sizeof rows / sizeof rows[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].site != STEP && rows[i].site != NEXT_STEP)
            kept[count++] = rows[i];
    return kept;
}

static void look_at_window(struct gait_trace *trace)
{
    struct turns turns;
    if (!ok(!turns_make(&turns, trace, NULL)))
        return;
    activity_is(&turns, ACTIVITY_OF_WINDOW,
                (const struct cell[]){{LANE_COMPUTE, HOST_NOTHING, 150 + 450 + 100},
                                      {LANE_COMPUTE, ACTIVITY_ALLOC, 50},
                                      {LANE_COMM, ACTIVITY_BLOCKING, 100},
                                      {LANE_COPY, ACTIVITY_BLOCKING, 50},
                                      {LANE_COPY, HOST_NOTHING, 50},
                                      {ACTIVITY_IDLE, ACTIVITY_BLOCKING, 50},
                                      {ACTIVITY_IDLE, ACTIVITY_ALLOC, 100},
                                      {ACTIVITY_IDLE, ACTIVITY_LAUNCH, 50},
                                      {ACTIVITY_IDLE, ACTIVITY_OP, 150},
                                      {ACTIVITY_IDLE, ACTIVITY_PYTHON, 200},
                                      {ACTIVITY_IDLE, HOST_NOTHING, 500},
                                      {0}});
    is_u64(activity_sums_total(&turns.activities[0].sums), 3700 - 1700);
    turns_finish(&turns);
}

TEST("activity: without steps, the window of the devices")
{
    literal_each_split_as(sites, without_steps(), "{}", look_at_window);
}

static void look_at_choice(struct gait_trace *trace)
{
    struct interval times[] = {{500, 1100}, {1650, 1900}, {3650, 4000}};
    struct intervals set = {.rows = times, .count = 3};
    struct turns turns = {.times = &set};
    const struct fact_ask ask = {&turns_consumer, &turns};
    if (!ok(!facts_run(trace, &ask, 1)))
        return;
    activity_is(&turns, ACTIVITY_OF_CHOICE,
                (const struct cell[]){{LANE_COMPUTE, HOST_NOTHING, 150 + 50},
                                      {ACTIVITY_IDLE, ACTIVITY_INPUT, 100},
                                      {ACTIVITY_IDLE, ACTIVITY_OP, 50},
                                      {ACTIVITY_IDLE, HOST_NOTHING, 500 + 50 + 300},
                                      {0}});
    turns_finish(&turns);
}

TEST("activity: of chosen times, with those before and behind all rows")
{
    literal_each_split(sites, rows, look_at_choice);
}

TEST("device fill: blocks count once a multiprocessor, occupancy by the time that tells it")
{
    // 0.5 |-------|          of 100
    // 0.8     |-------|      of 100, half under the first: 1 there
    // 3                |--|  of 50, at most one; none tells its occupancy
    // 0                      |----...  it lasts beyond the time that is asked about
    struct device_fill fill = {.device = 0};
    int status = device_fill_add(&fill, &(struct fill_kernel){0, 100, .5, 20});
    status |= device_fill_add(&fill, &(struct fill_kernel){50, 150, .8, 60});
    status |= device_fill_add(&fill, &(struct fill_kernel){200, 250, 3, NAN});
    status |= device_fill_add(&fill, &(struct fill_kernel){300, INT64_MAX, NAN, 90});
    device_fill_until(&fill, 300);
    is_int(status, 0);
    ok(fill.sums.busy_ns == 200);
    ok(fabs(fill.sums.blocks_ns - (25 + 50 + 40 + 50)) < 1e-9);
    ok(fabs(fill.sums.occupied / fill.sums.told_ns - 40) < 1e-9);
    device_fill_finish(&fill);
}
