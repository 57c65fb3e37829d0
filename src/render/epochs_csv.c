// SPDX-License-Identifier: Apache-2.0
// The time of an epoch is that between two epochs of the first rank, validation included.
#include "render/epochs_csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"

// In itwinai's words: what its trainer calls these strategies.
static const char *strategy(const struct run_report *report)
{
    return report->torch && report->torch->rank_count > 1 ? "ddp" : "non-distributed";
}

static int by_name(const void *a, const void *b)
{
    const char *const *one = a, *const *other = b;
    return strcmp(*one, *other);
}

// How many hosts there are; 0: no memory to count them.
static uint32_t count_nodes(const struct gait_trace *trace)
{
    const uint32_t shards = gait_trace_shard_count(trace);
    const char **hosts = calloc(shards + 1, sizeof *hosts);
    struct gait_shard_info shard;
    uint32_t known = 0, nodes = 0;
    for (uint32_t i = 0; hosts && i < shards; i++)
        if (!gait_trace_shard(trace, i, &shard))
            hosts[known++] = shard.host;
    if (hosts)
        qsort(hosts, known, sizeof *hosts, by_name);
    for (uint32_t i = 0; i < known; i++)
        nodes += !i || strcmp(hosts[i], hosts[i - 1]) != 0;
    free(hosts);
    return nodes;
}

// One that a crash cut short has fewer steps than the one before it, and gets no row.
static size_t count_whole(const struct torch_report *torch)
{
    const struct torch_epoch *epochs = torch->epochs;
    size_t count = torch->epoch_count;
    return count > 1 && epochs[count - 1].steps < epochs[count - 2].steps ? count - 1 : count;
}

void epochs_csv_name(char *out, size_t room, const struct run_report *report,
                     const struct gait_trace *trace)
{
    snprintf(out, room, "epochtime_%s_%" PRIu32 "N.csv", strategy(report), count_nodes(trace));
}

void epochs_csv_put(FILE *out, const struct run_report *report, const struct gait_trace *trace)
{
    const struct torch_report *torch = report->torch;
    const uint32_t nodes = count_nodes(trace);
    fputs("epoch_id,time,name,nodes\n", out);
    for (size_t i = 0; i < count_whole(torch); i++)
        fprintf(out, "%zu,%.9f,%s,%" PRIu32 "\n", i + 1, (double)torch->epochs[i].wall_ns / 1e9,
                strategy(report), nodes);
}
