// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/failure_facts.h"

#include <string.h>

#include <gait/trace.h>

#include "load/run.h"
#include "vocabulary/metadata.h"

// How good a witness of the failure a process is.
enum witness { KNOWS_NOTHING, BROKE_OFF, RAISED, ENDED_BADLY };

struct search {
    const struct gait_trace *trace;
    bool has_ranks;
    enum witness best;
    int64_t ended_ns, well_ns; // the best one; the last of those that ended well
    struct failure failure;
};

static bool is_bad(const struct run_outcome *outcome)
{
    return outcome->code || outcome->signal;
}

static enum witness judge(const struct search *search, uint32_t shard,
                          struct run_outcome *ret_outcome)
{
    const char *noted = gait_trace_metadata(search->trace, shard, meta.exit);
    if (noted)
        *ret_outcome = run_outcome_parse(noted);
    if (is_bad(ret_outcome))
        return ENDED_BADLY;
    if (gait_trace_metadata(search->trace, shard, meta.failure))
        return RAISED;
    return noted && !ret_outcome->is_known ? BROKE_OFF : KNOWS_NOTHING;
}

// Helpers of ranks end as they like. Of those that are equally good it is the first to end: it
// took the others along.
static void ask(struct search *search, uint32_t index)
{
    struct failure *failure = &search->failure;
    struct run_outcome outcome = {.is_known = false};
    struct gait_shard_info shard;
    if (gait_trace_shard(search->trace, index, &shard) || strcmp(shard.role, "program") != 0 ||
        (shard.rank < 0 && search->has_ranks))
        return;
    const enum witness witness = judge(search, index, &outcome);
    if (witness == KNOWS_NOTHING && shard.end_ns > search->well_ns)
        search->well_ns = shard.end_ns;
    if (witness == BROKE_OFF && failure->broken_rank < 0)
        failure->broken_rank = shard.rank;
    if (witness < search->best || !witness ||
        (witness == search->best && shard.end_ns >= search->ended_ns))
        return;
    search->best = witness;
    search->ended_ns = shard.end_ns;
    failure->shard = index;
    failure->rank = shard.rank;
    failure->is_broken_off = witness == BROKE_OFF;
    failure->has_exception = gait_trace_metadata(search->trace, index, meta.failure) != NULL;
    failure->code = outcome.code;
    failure->signal = outcome.signal;
}

static bool find_ranks(const struct gait_trace *trace)
{
    struct gait_shard_info shard;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++)
        if (!gait_trace_shard(trace, i, &shard) && !strcmp(shard.role, "program") &&
            shard.rank >= 0)
            return true;
    return false;
}

// A process that fails where the command ends well was started again, or was one of many and
// missed by nobody; but behind `| tee log` the command is tee.
struct failure failure_facts_find(const struct gait_trace *trace)
{
    const struct failure none = {.shard = FAILURE_OF_NOBODY, .rank = -1, .broken_rank = -1};
    const struct run_outcome *command = &trace->run.outcome;
    struct search search = {
        .trace = trace, .has_ranks = find_ranks(trace), .well_ns = INT64_MIN, .failure = none};
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++)
        ask(&search, i);
    struct failure *failure = &search.failure;
    failure->is_known = is_bad(command) || search.best == ENDED_BADLY;
    if (!is_bad(command) && command->is_known && search.well_ns > search.ended_ns)
        failure->is_known = false;
    if (search.best != ENDED_BADLY) {
        failure->code = command->code;
        failure->signal = command->signal;
    }
    return failure->is_known ? *failure : none;
}
