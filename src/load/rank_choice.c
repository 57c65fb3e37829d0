// SPDX-License-Identifier: Apache-2.0
#include "load/rank_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "vocabulary/metadata.h"

enum { NO_RANK = -1 };

// The rank of who watched itself, or of the process that a shard is about.
static int64_t rank_of(const struct run *run, uint32_t number)
{
    const struct run_shard *shard = run->shards[run->shards[number]->owner];
    const struct gait_shard_info *info = &shard->info;
    int64_t rank = info->rank;
    for (uint32_t i = 0; i < run->shard_count && rank < 0 && info->subject_pid != info->pid; i++) {
        const struct gait_shard_info *other = &run->shards[i]->info;
        if (other->pid == info->subject_pid && !strcmp(other->host, info->host))
            rank = other->rank;
    }
    if (rank < 0 && dictionary_meta(&shard->dictionary, meta.import))
        rank = 0;
    return rank < 0 ? NO_RANK : rank;
}

static int fail_empty(const struct choice *choice, int64_t least, int64_t most)
{
    if (most == NO_RANK)
        return fail(GAIT_ERR_ARGUMENT,
                    "'--ranks' %.40s chooses nothing: the run is of rank 0 alone",
                    choice->texts.ranks);
    return fail(GAIT_ERR_ARGUMENT,
                "'--ranks' %.40s chooses nothing: the ranks on record are %" PRId64 "..%" PRId64,
                choice->texts.ranks, least, most);
}

static int choose(const struct run *run, const struct choice *choice, bool *is_kept)
{
    int64_t least = INT64_MAX, most = NO_RANK;
    bool is_any = false;
    for (uint32_t i = 0; i < run->shard_count; i++) {
        const int64_t rank = rank_of(run, i);
        is_kept[i] = rank == NO_RANK || choice_has_rank(choice, rank);
        if (rank == NO_RANK)
            continue;
        is_any |= is_kept[i];
        least = rank < least ? rank : least;
        most = rank > most ? rank : most;
    }
    if (most == NO_RANK) // a run without ranks
        is_any = choice_has_rank(choice, 0);
    return is_any ? GAIT_OK : fail_empty(choice, least, most);
}

int rank_choice_open(const struct gait_trace *trace, const struct choice *choice,
                     struct gait_trace **ret_trace)
{
    const struct run *run = &trace->run;
    bool *is_kept = calloc((size_t)run->shard_count + 1, sizeof *is_kept);
    struct gait_trace *made = malloc(sizeof *made);
    int status = is_kept && made ? choose(run, choice, is_kept)
                                 : fail(GAIT_ERR_MEMORY, "no memory for a choice of ranks");
    if (!status)
        status = run_open_some(&made->run, run, is_kept);
    free(is_kept);
    if (status) {
        free(made);
        return status;
    }
    made->run.is_of_some_ranks = true;
    *ret_trace = made;
    return status;
}
