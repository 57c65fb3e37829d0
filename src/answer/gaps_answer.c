// SPDX-License-Identifier: Apache-2.0
// `gait gaps`: the longest times in which a process made no step.
#include <stdlib.h>

#include "analyse/steps/chosen.h"
#include "analyse/steps/each_step.h"
#include "answer/answers.h"
#include "base/fail.h"
#include "load/choice.h"

struct gaps_values {
    double least_s;
};

// Since the last step of one process.
struct gap {
    int64_t start_ns, after; // the number of that step; -1: none yet
    struct gait_shard_info shard;
};

struct search {
    struct sheet *sheet;
    struct gap *gaps; // by shard
    int64_t least_ns;
    const struct chosen *chosen;
};

static const struct column columns[] = {
    {.label = "", .width = 21, .flags = COLUMN_LEFT},
    {.key = "after_step", .label = "step", .width = 7},
    {.key = "rank", .label = "rank", .width = 6},
    {.key = "pid", .label = "pid", .width = 8},
    {.key = "start_ns"},
    {.label = "begins after", .unit = UNIT_NS, .width = 15},
    {.key = "length_ns", .label = "length", .unit = UNIT_NS, .width = 10},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 9},
};

static const struct table table = {.key = "gaps",
                                   .heading = "No step",
                                   COLUMNS_ARE(columns),
                                   .most = 20,
                                   .more = "shorter",
                                   .falling_by = "length_ns"};

static void end_gap(const struct search *search, const struct gap *gap, int64_t end_ns)
{
    const struct gait_shard_info *shard = &gap->shard;
    const struct chosen *chosen = search->chosen;
    int64_t start_ns = gap->start_ns;
    if (chosen) { // cut at its edges
        start_ns = chosen->from_ns > start_ns ? chosen->from_ns : start_ns;
        end_ns = chosen->to_ns < end_ns ? chosen->to_ns : end_ns;
    }
    const int64_t length_ns = (int64_t)((uint64_t)end_ns - (uint64_t)start_ns);
    if (end_ns < start_ns || length_ns < search->least_ns)
        return;
    const struct value cells[] = {
        value_text(gap->after < 0 ? "before the first step" : "after"),
        value_if(gap->after >= 0, value_int(gap->after)),
        value_rank(shard->rank),
        value_int(shard->pid),
        value_int(start_ns),
        value_int(start_ns - shard->start_ns),
        value_int(length_ns),
        value_share((uint64_t)length_ns, (uint64_t)shard->end_ns - (uint64_t)shard->start_ns),
    };
    sheet_row(search->sheet, cells, 0);
}

static int add_step(void *context, const struct gait_event *step, uint32_t shard)
{
    const struct search *search = context;
    struct gap *gap = &search->gaps[shard];
    int64_t end_ns;
    end_gap(search, gap, step->start_ns);
    gap->after = (int64_t)step->id;
    if (!__builtin_add_overflow(step->start_ns, step->duration_ns, &end_ns) &&
        end_ns > gap->start_ns)
        gap->start_ns = end_ns;
    return GAIT_OK;
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct gaps_values *values = asked->values;
    const uint32_t count = gait_trace_shard_count(asked->trace);
    const double least_s = values->least_s > 0 ? values->least_s : 0.1;
    struct search search = {sheet, calloc(count + 1, sizeof(struct gap)), (int64_t)(least_s * 1e9),
                            asked->chosen};
    int status = search.gaps ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the gaps");
    for (uint32_t i = 0; i < count && !status; i++) {
        struct gap *gap = &search.gaps[i];
        status = gait_trace_shard(asked->trace, i, &gap->shard);
        gap->start_ns = gap->shard.start_ns;
        gap->after = -1;
    }
    sheet_title(sheet, asked->path, "Longest times without a step");
    sheet_table(sheet, &table);
    if (!status)
        status = each_step(asked->trace, false, add_step, &search);
    for (uint32_t i = 0; i < count && !status; i++)
        if (search.gaps[i].after >= 0)
            end_gap(&search, &search.gaps[i], search.gaps[i].shard.end_ns);
    sheet_end(sheet);
    free(search.gaps);
    return status;
}

static const struct option options[] = {
    {SECONDS_ROW(0, "least", "SEC", 0, 1000000000, 0, "leave out shorter times (default: 0.1 s)")},
};

const struct answer gaps_answer = {
    .summary = "Lists the longest times in which a process of a training made no step: set-up, "
               "evaluation, checkpoints, the end, or a hang.",
    .examples = {{"gait gaps run1", "List the times without a step, the longest first."}},
    OPTIONS_ARE(options),
    .is_rare = true,
    .choice = CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK,
    .put = put,
};
