// SPDX-License-Identifier: Apache-2.0
#include "analyse/report/torch_walks.h"

#include "analyse/ops/op_walk.h"
#include "analyse/report/torch_report.h"

struct takings {
    struct top_ops_taking *ops;
    struct flops_taking *flops;
    struct blocks_taking *blocks;
};

static int begin_ops(struct takings *takings, struct op_walk *walk, struct torch_report *torch,
                     struct arena *arena)
{
    const struct inventory_shard *shard = &torch->survey.shards[walk->shard];
    const struct top_ops_wish wish = {.phases = &torch->phases,
                                      .since_ns = shard->ops_since_ns,
                                      .steps = &torch->flops.steps,
                                      .unphased = &torch->unphased,
                                      .track = torch->ranks[0].track};
    int status = GAIT_OK;
    if (shard->events[ROLE_OP])
        status = top_ops_begin(&takings->ops, walk, &wish);
    if (!status && torch->flops.steps.count)
        status = torch_flops_begin(&takings->flops, walk, torch, arena);
    return status;
}

static int end(struct takings *takings, struct torch_report *torch, struct arena *arena)
{
    int status = GAIT_OK;
    if (takings->ops) {
        status = top_ops_end(takings->ops, &torch->ops, arena);
        takings->ops = NULL;
    }
    if (!status && takings->flops) {
        status = torch_flops_end(takings->flops);
        takings->flops = NULL;
    }
    if (!status && takings->blocks) {
        status = op_allocations_end(takings->blocks);
        takings->blocks = NULL;
    }
    return status;
}

static int read_shard(struct torch_report *torch, struct gait_trace *trace, struct arena *arena,
                      uint32_t shard)
{
    struct takings takings = {.ops = NULL};
    struct op_walk walk = {
        .trace = trace, .phases = &torch->phases, .survey = &torch->survey, .shard = shard};
    int status = GAIT_OK;
    if (torch->rank_count && torch->survey.shard_of[torch->ranks[0].track] == shard)
        status = begin_ops(&takings, &walk, torch, arena);
    if (!status && torch->memory.peak_bytes && torch->memory.shard == shard)
        status = op_allocations_begin(&takings.blocks, &walk, torch, arena);
    if (!status && walk.walker_count)
        status = op_walk_all(&walk);
    if (!status)
        status = end(&takings, torch, arena);
    top_ops_drop(takings.ops);
    torch_flops_drop(takings.flops);
    op_allocations_drop(takings.blocks);
    return status;
}

int torch_walks_read(struct torch_report *torch, struct gait_trace *trace, struct arena *arena)
{
    const bool has_memory = torch->memory.peak_bytes > 0;
    const uint32_t memory = torch->memory.shard;
    if (!torch->rank_count)
        return has_memory ? read_shard(torch, trace, arena, memory) : GAIT_OK;
    const uint32_t first = torch->survey.shard_of[torch->ranks[0].track];
    const int status = read_shard(torch, trace, arena, first);
    return status || !has_memory || memory == first ? status
                                                    : read_shard(torch, trace, arena, memory);
}
