// SPDX-License-Identifier: Apache-2.0
#include "analyse/job/job_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "load/run.h"
#include "vocabulary/metadata.h"

static int by_rank(const void *left, const void *right)
{
    const struct job_file *a = left, *b = right;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                              : strcmp(a->source, b->source);
}

int job_files_init(struct job_files *files, const struct gait_trace *trace)
{
    const uint32_t shards = gait_trace_shard_count(trace);
    double world = 0;
    *files = (struct job_files){.rows = calloc((size_t)shards + 1, sizeof *files->rows)};
    if (!files->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %" PRIu32 " ranks", shards);
    for (uint32_t i = 0; i < shards; i++) {
        const char *source = gait_trace_metadata(trace, i, meta.source);
        const char *info = gait_trace_metadata(trace, i, "trace.distributedInfo");
        struct gait_shard_info shard;
        const double size = info ? json_member_count(info, "world_size") : 0;
        world = size > world && size < 1e15 ? size : world;
        if (source && !gait_trace_shard(trace, i, &shard) && shard.rank >= 0)
            files->rows[files->count++] = (struct job_file){shard.rank, source};
    }
    qsort(files->rows, files->count, sizeof *files->rows, by_rank);
    for (size_t i = 0; i < files->count; i++)
        files->ranks += !i || files->rows[i].rank != files->rows[i - 1].rank;
    if (files->count && (double)files->ranks < world && !trace->run.is_of_some_ranks)
        files->missing = (uint64_t)world - files->ranks;
    return GAIT_OK;
}

void job_files_finish(struct job_files *files)
{
    free(files->rows);
    *files = (struct job_files){.rows = NULL};
}
