// SPDX-License-Identifier: Apache-2.0
// Who launched what: cases drawn by hand, and the same in slices of any size.
#define _GNU_SOURCE
#include "facts/launches.h"

#include "facts/late_rows.h"
#include "facts/rank_stream.h"
#include "support/fact_literals.h"
#include "support/tap.h"

enum { OUTER = 1, INNER, LAUNCH, DRIVER, KERNEL, RANGE };

static const struct literal_site sites[] = {{"cpu_op", "outer"},
                                            {"cpu_op", "inner"},
                                            {"cuda_runtime", "cudaLaunchKernel"},
                                            {"cuda_driver", "cuLaunchKernel"},
                                            {"kernel", "k"},
                                            {"user_annotation", "range"},
                                            {0}};

struct told {
    uint32_t op;          // GAIT_NO_SITE: none
    int64_t call_ns, tid; // -1: no call; of the innermost op or range
};

static int64_t tid_of(const struct launches *launches, uint32_t thread)
{
    return thread == LAUNCH_NO_THREAD ? -1 : launches->threads.rows[thread].tid;
}

// What the kernels of a track are told.
static unsigned tell_track(const struct launches *launches, const struct fact_rows *track,
                           struct told *told)
{
    unsigned count = 0;
    for (size_t at = 0; at < track->count; at++) {
        const struct fact_row *row = &track->rows[at];
        const struct launch *launch =
            launches_find(launches, track->shard, row->link, row->start_ns);
        if (row->site == KERNEL)
            told[count++] = launch ? (struct told){launch->op, launch->start_ns,
                                                   tid_of(launches, launch->thread)}
                                   : (struct told){GAIT_NO_SITE, -1, -1};
    }
    return count;
}

static unsigned tell(const struct literal_row *rows, size_t slice_rows, size_t generation,
                     struct told *told)
{
    struct literal_rank rank;
    struct rank_stream *stream = NULL;
    struct launches launches;
    struct fact_slice slice;
    unsigned count = 0;
    literal_open(&rank, sites, rows);
    const struct stream_wish wish = {.columns = FACT_LINKS, .slice_rows = slice_rows};
    builder_must(rank_stream_open(&stream, &rank.trace, 0, &wish), "a stream");
    builder_must(launches_init(&launches, &rank.trace, 0, generation), "launches");
    builder_must(launches_survey(&launches, stream), "threads");
    while (rank_stream_next(stream, &slice) == 1) {
        builder_must(launches_add(&launches, &slice), "a slice");
        for (size_t i = 0; i < slice.count; i++)
            count += tell_track(&launches, &slice.tracks[i], &told[count]);
    }
    launches_finish(&launches);
    rank_stream_close(stream);
    literal_close(&rank);
    return count;
}

static void are_told(const struct literal_row *rows, const struct told *wanted, unsigned count)
{
    for (size_t slice_rows = 1; slice_rows < 12; slice_rows++) {
        struct told told[8];
        if (!is_u64(tell(rows, slice_rows, 0, told), count))
            continue;
        for (unsigned i = 0; i < count; i++) {
            is_u64(told[i].op, wanted[i].op);
            is_int(told[i].call_ns, wanted[i].call_ns);
            is_int(told[i].tid, wanted[i].tid);
        }
    }
}

TEST("launches: the innermost op around the call, of the outer call of one number")
{
    // thread  |outer------------------------|
    //           |inner----|   call 2 ---|
    //              call 1---|
    //              |driver|
    // stream                     |k 1| |k 2| |k 3|   and 4 has no number
    const struct literal_row rows[] = {
        {1, OUTER, 0, 100, 0, 0, 0},      {1, INNER, 10, 40, 0, 1, 0},
        {1, LAUNCH, 20, 45, 1, 2, 0},     {1, DRIVER, 20, 30, 1, 3, 0},
        {1, LAUNCH, 60, 90, 2, 1, 0},     {101, KERNEL, 95, 105, 1, 0, 0},
        {101, KERNEL, 110, 120, 2, 0, 0}, {101, KERNEL, 130, 140, 3, 0, 0},
        {101, KERNEL, 150, 160, 0, 0, 0}, {0}};
    const struct told wanted[] = {
        {INNER, 20, 1}, {OUTER, 60, 1}, {GAIT_NO_SITE, -1, -1}, {GAIT_NO_SITE, -1, -1}};
    are_told(rows, wanted, 4);
}

TEST("launches: an op is over at its end, and is around what begins with it on any thread")
{
    // thread 1  |outer------------------------------------------|
    //             |inner|call 1   |inner...                          it never ended: it holds
    //             nothing
    //                                  call 4
    // thread 2                  |inner|      |range---|
    // thread 3                  |call 3---|     call 5
    static const struct literal_row rows[] = {
        {1, OUTER, 0, 100, 0, 0, 0},      {1, INNER, 10, 20, 0, 1, 1},
        {1, LAUNCH, 20, 25, 1, 1, 2},     {2, INNER, 50, 60, 0, 0, 0},
        {3, LAUNCH, 50, 70, 3, 0, 0},     {1, INNER, 72, LITERAL_OPEN, 0, 1, 0},
        {1, LAUNCH, 75, 76, 4, 1, 3},     {2, RANGE, 80, 90, 0, 0, 1},
        {3, LAUNCH, 85, 86, 5, 0, 1},     {101, KERNEL, 101, 102, 1, 0, 0},
        {101, KERNEL, 103, 104, 3, 0, 0}, {101, KERNEL, 105, 106, 4, 0, 0},
        {101, KERNEL, 107, 108, 5, 0, 0}, {0}};
    static const struct told wanted[] = {
        {OUTER, 20, 1}, {INNER, 50, 2}, {OUTER, 75, 1}, {OUTER, 85, 2}};
    are_told(rows, wanted, 4);
}

TEST("launches: of a thread without ops the op that began last, of one with ops none but its own")
{
    // thread 1 |outer----------------------|         thread 3 has calls alone
    // thread 2      |inner----|
    const struct literal_row rows[] = {{1, OUTER, 0, 100, 0, 0, 0},
                                       {2, INNER, 10, 30, 0, 0, 0},
                                       {3, LAUNCH, 20, 22, 1, 0, 0},
                                       {3, LAUNCH, 50, 52, 2, 0, 0},
                                       {2, LAUNCH, 60, 62, 3, 0, 0},
                                       {101, KERNEL, 95, 96, 1, 0, 0},
                                       {101, KERNEL, 97, 98, 2, 0, 0},
                                       {101, KERNEL, 99, 100, 3, 0, 0},
                                       {0}};
    static const struct told wanted[] = {{INNER, 20, 2}, {OUTER, 50, 1}, {GAIT_NO_SITE, 60, -1}};
    are_told(rows, wanted, 3);
}

TEST("launches: what a thread has later counts from its first row on, in slices of any size")
{
    // thread 1 |outer----------------------|
    // thread 2      call 1   |inner|
    const struct literal_row rows[] = {{1, OUTER, 0, 100, 0, 0, 0},    {2, LAUNCH, 20, 22, 1, 0, 0},
                                       {2, INNER, 60, 70, 0, 0, 1},    {1, INNER, 80, 90, 0, 1, 1},
                                       {101, KERNEL, 30, 40, 1, 0, 0}, {0}};
    are_told(rows, &(struct told){GAIT_NO_SITE, 20, -1}, 1);
}

TEST("launches: of calls of one number the last before the kernel counts, in slices of any size")
{
    // thread  |outer-------------|inner-------------|   |outer---|
    //          call 1|            call 1|                 call 1|
    // stream           |k 1|               |k 1| |k 1|               |k 1|
    const struct literal_row rows[] = {{1, OUTER, 0, 50, 0, 0, 0},
                                       {1, LAUNCH, 2, 4, 1, 1, 0},
                                       {101, KERNEL, 20, 25, 1, 0, 0},
                                       {1, INNER, 60, 100, 0, 0, 1},
                                       {1, LAUNCH, 62, 64, 1, 1, 1},
                                       {101, KERNEL, 70, 75, 1, 0, 1},
                                       {101, KERNEL, 80, 85, 1, 0, 1},
                                       {1, OUTER, 110, 130, 0, 0, 2},
                                       {1, LAUNCH, 112, 114, 1, 1, 2},
                                       {101, KERNEL, 140, 145, 1, 0, 2},
                                       {0}};
    const int64_t calls[] = {2, 62, 62, 112};
    for (size_t slice_rows = 1; slice_rows < 12; slice_rows++) {
        struct told told[8];
        if (!is_u64(tell(rows, slice_rows, 0, told), 4))
            continue;
        for (int i = 0; i < 4; i++)
            is_int(told[i].call_ns, calls[i]);
    }
}

TEST("launches: a number that is used again is of the later call, a forgotten one of none")
{
    const struct literal_row rows[] = {
        {1, OUTER, 0, 10, 0, 0, 0},     {1, LAUNCH, 2, 4, 1, 0, 0},
        {1, INNER, 20, 40, 0, 0, 1},    {1, LAUNCH, 22, 24, 1, 0, 1},
        {101, KERNEL, 50, 51, 1, 0, 1}, {1, LAUNCH, 60, 61, 2, 0, 2},
        {1, LAUNCH, 62, 63, 3, 0, 2},   {1, LAUNCH, 64, 65, 4, 0, 2},
        {1, LAUNCH, 66, 67, 5, 0, 2},   {101, KERNEL, 70, 71, 1, 0, 2},
        {101, KERNEL, 72, 73, 5, 0, 2}, {0}};
    struct told told[8];
    if (!is_u64(tell(rows, 1, 2, told), 3))
        return;
    is_u64(told[0].op, INNER);
    is_int(told[1].call_ns, -1);
    is_int(told[2].call_ns, 66);
}

struct settled {
    struct told told[8]; // in order of their starts
    unsigned count;
};

struct late_kernel {
    struct late_row row;
    unsigned number;
};

static int settle(void *context, const struct late_row *row, const struct launch *launch)
{
    struct settled *settled = context;
    settled->told[((const struct late_kernel *)row)->number] = (struct told){
        .op = launch ? launch->op : GAIT_NO_SITE, .call_ns = launch ? launch->start_ns : -1};
    settled->count++;
    return GAIT_OK;
}

static void add_late(struct late_rows *late, const struct fact_slice *slice, unsigned *number)
{
    for (size_t i = 0; i < slice->count; i++)
        for (size_t at = 0; at < slice->tracks[i].count; at++) {
            const struct fact_row *row = &slice->tracks[i].rows[at];
            const struct late_kernel kernel = {{row->link, row->start_ns, slice->tracks[i].shard},
                                               *number};
            if (row->site != KERNEL)
                continue;
            ++*number;
            builder_must(late_rows_add(late, slice->launches, &kernel.row), "a kernel");
        }
    builder_must(late_rows_look(late, slice), "late kernels");
}

static void settle_all(const struct literal_row *rows, size_t slice_rows, struct settled *settled)
{
    struct late_rows late = {
        .settle = settle, .context = settled, .row_bytes = sizeof(struct late_kernel)};
    struct literal_rank rank;
    struct rank_stream *stream = NULL;
    struct launches launches;
    struct fact_slice slice;
    unsigned number = 0;
    literal_open(&rank, sites, rows);
    const struct stream_wish wish = {.columns = FACT_LINKS, .slice_rows = slice_rows};
    builder_must(rank_stream_open(&stream, &rank.trace, 0, &wish), "a stream");
    builder_must(launches_init(&launches, &rank.trace, 0, 0), "launches");
    builder_must(launches_survey(&launches, stream), "threads");
    while (rank_stream_next(stream, &slice) == 1) {
        builder_must(launches_add(&launches, &slice), "a slice");
        slice.launches = &launches;
        add_late(&late, &slice, &number);
    }
    late_rows_finish(&late);
    launches_finish(&launches);
    rank_stream_close(stream);
    literal_close(&rank);
}

TEST("late rows: a kernel that began before its call waits for it, in slices of any size")
{
    // thread              |outer---------------------|
    //                          call 1|    call 2|
    // stream  |k 1|  |k 2|                              |k 1|  |k 3|, and 4 has no number
    const struct literal_row rows[] = {{101, KERNEL, 0, 5, 1, 0, 0},
                                       {101, KERNEL, 10, 15, 2, 0, 1},
                                       {1, OUTER, 20, 100, 0, 0, 2},
                                       {1, LAUNCH, 30, 35, 1, 1, 3},
                                       {1, LAUNCH, 60, 65, 2, 1, 4},
                                       {101, KERNEL, 120, 125, 1, 0, 5},
                                       {101, KERNEL, 130, 140, 3, 0, 6},
                                       {101, KERNEL, 150, 160, 0, 0, 7},
                                       {0}};
    const struct told wanted[] = {{OUTER, 30, 0},
                                  {OUTER, 60, 0},
                                  {OUTER, 30, 0},
                                  {GAIT_NO_SITE, -1, 0},
                                  {GAIT_NO_SITE, -1, 0}};
    for (size_t slice_rows = 1; slice_rows < 12; slice_rows++) {
        struct settled settled = {.count = 0};
        settle_all(rows, slice_rows, &settled);
        if (!is_u64(settled.count, 5))
            continue;
        for (int i = 0; i < 5; i++) {
            is_u64(settled.told[i].op, wanted[i].op);
            is_int(settled.told[i].call_ns, wanted[i].call_ns);
        }
    }
}
