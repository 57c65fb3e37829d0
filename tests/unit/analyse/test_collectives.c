// SPDX-License-Identifier: Apache-2.0
// Collectives of one rank by what their kernels are called.
#define _GNU_SOURCE
#include "analyse/device/collectives.h"

#include <math.h>

#include "support/fact_splits.h"

enum { REDUCE = 1, REDUCE_TREE, GATHER, GEMM, LAUNCH };

static const struct literal_site sites[] = {
    {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"},
    {"kernel", "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(x)"},
    {"kernel", "ncclDevKernel_AllGather_RING_LL(x)"},
    {"kernel", "gemm"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {0}};

// thread    |call 1|  |call 2|     |call 3|
// stream 1            |reduce 0----|  |reduce 1, a tree|      |reduce 3, of no call|  |reduce...
// stream 2            |gather 0----------|                    |gather 1--|
// stream 3  |gemm--------------------------------|  |reduce 2, as long as reduce 1|
static const struct literal_row rows[] = {{1, LAUNCH, 0, 10, 1, 0, 0},
                                          {1, LAUNCH, 100, 110, 2, 0, 0},
                                          {1, LAUNCH, 200, 210, 3, 0, 0},
                                          {101, REDUCE, 100, 180, 1, 0, 0},
                                          {101, REDUCE_TREE, 210, 250, 2, 0, 0},
                                          {101, REDUCE, 400, 430, 0, 0, 0},
                                          {101, REDUCE, 500, LITERAL_OPEN, 0, 0, 0},
                                          {102, GATHER, 100, 220, 1, 0, 0},
                                          {102, GATHER, 400, 470, 3, 0, 0},
                                          {103, GEMM, 5, 330, 1, 0, 0},
                                          {103, REDUCE, 350, 390, 3, 0, 0},
                                          {0}};

struct sum {
    const char *name;
    uint64_t calls, device_ns;
};

static void are_sums(const struct collectives *found, const struct sum *wanted, size_t count)
{
    if (!is_u64(found->count, count))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct collective_sum *sum = &found->sums[i];
        is_str(sum->kind->name, wanted[i].name);
        is_u64(sum->calls, wanted[i].calls);
        is_u64(sum->device_ns, wanted[i].device_ns);
        is_u64(sum->transfer_ns, wanted[i].device_ns); // one rank waits for nobody
        is_u64(sum->waiting_ns, 0);
        is_u64(sum->unmatched, 0);
        is_int(sum->last_rank, -1);
    }
}

// Calls are told by their kind, which lies anywhere, then by number.
static void are_starts(const struct collectives *found, const char *name, const int64_t *starts,
                       uint64_t first)
{
    for (size_t i = 0; i < found->call_count; i++)
        if (strcmp(found->calls[i].kind->name, name) == 0 && ok(found->calls[i].number >= first))
            is_int(found->calls[i].start_ns, starts[found->calls[i].number - first]);
}

// Of equal time the name tells which comes first.
static void look(struct gait_trace *trace)
{
    static const struct sum wanted[] = {{"allgather", 2, 120 + 70},
                                        {"allreduce", 4, 80 + 40 + 40 + 30}};
    struct collectives found;
    if (!ok(!collectives_make(&found, trace, NULL)))
        return;
    are_sums(&found, wanted, 2);
    are_starts(&found, "allreduce", (const int64_t[]){100, 210, 350, 400}, 0);
    are_starts(&found, "allgather", (const int64_t[]){100, 400}, 0);
    collectives_finish(&found);
}

TEST("collectives: named by their kernels where nothing else tells, numbered in order of start")
{
    literal_each_split(sites, rows, look);
}

// Those that were launched from 100 on; reduce 3, whose call is not on record, when it began.
static void look_at_chosen(struct gait_trace *trace)
{
    static const struct sum wanted[] = {{"allreduce", 3, 40 + 40 + 30}, {"allgather", 1, 70}};
    const struct choice_texts texts = {.from = "100"};
    struct choice choice;
    struct chosen chosen;
    struct collectives found;
    if (!ok(!choice_read(&choice, &texts)) || !ok(!chosen_find(&chosen, trace, &choice)) ||
        !ok(!collectives_make(&found, trace, &chosen)))
        return;
    are_sums(&found, wanted, 2);
    are_starts(&found, "allreduce", (const int64_t[]){210, 350, 400}, 1);
    are_starts(&found, "allgather", (const int64_t[]){400}, 1);
    collectives_finish(&found);
    chosen_finish(&chosen);
}

TEST("collectives: of chosen times count those launched then, by the numbers that all have")
{
    literal_each_split(sites, rows, look_at_chosen);
}

// --- what kernels say of themselves ---------------------------------------------------------

// Of one name and two groups; bytes are of the larger side.
static void look_at_told(struct gait_trace *trace)
{
    struct collectives found;
    if (!ok(!collectives_make(&found, trace, NULL)) || !is_u64(found.count, 2))
        return;
    const struct collective_sum *first = &found.sums[0], *second = &found.sums[1];
    is_str(first->kind->name, "all_gather");
    is_str(first->kind->group, "0");
    is_str(first->kind->dtype, "BFloat16");
    is_u64(first->kind->group_size, 4);
    is_u64(first->calls, 2);
    is_u64(first->device_ns, 50 + 60);
    is_u64(first->bytes, 2 * 400 * 2);
    is_str(second->kind->group, "1");
    is_u64(second->device_ns, 30);
    is_u64(second->bytes, 100 * 2);
    // 1600 bytes in 110 ns, of which each link of 4 carries three quarters
    ok(fabs(collective_bus_bandwidth(first) - 1600 / 110e-9 * 3 / 4) < 1);
    ok(fabs(collective_bus_bandwidth(second) - 200 / 30e-9 * 3 / 4) < 1);
    collectives_finish(&found);
}

TEST("collectives: by name and group as the kernels say, whatever these are called")
{
    // stream 1  |ring of group 0|  |tree of group 0|
    // stream 2     |gather of group 1|
    static const struct literal_arg args[] = {{REDUCE, "Collective name", "all_gather", 0},
                                              {REDUCE, "Process Group Name", "0", 0},
                                              {REDUCE, "dtype", "BFloat16", 0},
                                              {REDUCE, "In msg nelems", NULL, 100},
                                              {REDUCE, "Out msg nelems", NULL, 400},
                                              {REDUCE, "Group size", NULL, 4},
                                              {REDUCE_TREE, "Collective name", "all_gather", 0},
                                              {REDUCE_TREE, "Process Group Name", "0", 0},
                                              {REDUCE_TREE, "dtype", "BFloat16", 0},
                                              {REDUCE_TREE, "In msg nelems", NULL, 400},
                                              {REDUCE_TREE, "Group size", NULL, 4},
                                              {GATHER, "Collective name", "all_gather", 0},
                                              {GATHER, "Process Group Name", "1", 0},
                                              {GATHER, "dtype", "BFloat16", 0},
                                              {GATHER, "Group size", NULL, 4},
                                              {GATHER, "In msg nelems", NULL, 100},
                                              {0}};
    static const struct literal_row told[] = {{101, REDUCE, 0, 50, 0, 0, 0},
                                              {101, REDUCE_TREE, 60, 120, 0, 0, 0},
                                              {102, GATHER, 20, 50, 0, 0, 0},
                                              {0}};
    literal_args = args;
    literal_each_split(sites, told, look_at_told);
    literal_args = NULL;
}
