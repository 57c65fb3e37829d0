// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/failure_facts.h"

#include <string.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "load/run.h"
#include "vocabulary/metadata.h"

// How good a witness of the failure a process is.
enum witness { KNOWS_NOTHING, BROKE_OFF, RAISED, ENDED_BADLY };

struct search {
    const struct run_report *report;
    const struct gait_trace *trace;
    enum witness least; // that counts
    enum witness best;
    int64_t ended_ns; // of the best one
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

// Helpers end as they like: a process that trains or is a rank counts, or the only one. Of
// those that are equally good it is the first to end: it took the others along.
static void ask(struct search *search, uint32_t index)
{
    struct failure *failure = &search->failure;
    struct run_outcome outcome = {.is_known = false};
    struct gait_shard_info shard;
    if (gait_trace_shard(search->trace, index, &shard) || strcmp(shard.role, "program") != 0 ||
        (shard.rank < 0 && search->report->process_count > 1))
        return;
    const enum witness witness = judge(search, index, &outcome);
    if (witness < search->least || witness < search->best ||
        (witness == search->best && shard.end_ns >= search->ended_ns))
        return;
    search->best = witness;
    search->ended_ns = shard.end_ns;
    failure->shard = index;
    failure->rank = shard.rank;
    failure->is_broken_off = witness == BROKE_OFF;
    failure->is_known = true;
    if (witness != ENDED_BADLY)
        return;
    failure->code = outcome.code;
    failure->signal = outcome.signal;
}

// Where the command ended well, those who failed on the way were started again.
struct failure failure_facts_find(const struct run_report *report, const struct gait_trace *trace)
{
    const struct run_outcome *command = &trace->run.outcome;
    struct search search = {.report = report,
                            .trace = trace,
                            .least = is_bad(command) ? BROKE_OFF : ENDED_BADLY,
                            .failure = {.is_known = is_bad(command),
                                        .code = command->code,
                                        .signal = command->signal,
                                        .shard = FAILURE_OF_NOBODY,
                                        .rank = -1}};
    if (command->is_known && !is_bad(command))
        return search.failure;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++)
        ask(&search, i);
    return search.failure;
}
