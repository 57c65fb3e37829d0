// SPDX-License-Identifier: Apache-2.0
// A worker counts as long as its process lives, however many recordings it made: before
// 0.2 one that lived on began a recording for each epoch.
#include "analyse/verdict/loader_workers.h"

#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/job/inventory.h"
#include "base/fail.h"

struct life {
    const char *host;
    int64_t pid, start_ns, end_ns;
};

struct turn {
    int64_t at_ns;
    int change; // 1: one more works, -1: one less
};

static int by_time(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->change - b->change; // who ends goes before the next one comes
}

static int compare_processes(const struct life *a, const struct life *b)
{
    return a->pid != b->pid ? (a->pid < b->pid ? -1 : 1) : strcmp(a->host, b->host);
}

static int by_process(const void *left, const void *right)
{
    return compare_processes(left, right);
}

// Puts what one process recorded together; gives how many there are.
static size_t join_lives(struct life *lives, size_t count)
{
    size_t kept = 0;
    qsort(lives, count, sizeof *lives, by_process);
    for (size_t i = 0; i < count; i++) {
        if (!kept || compare_processes(&lives[kept - 1], &lives[i])) {
            lives[kept++] = lives[i];
            continue;
        }
        struct life *life = &lives[kept - 1];
        life->start_ns = lives[i].start_ns < life->start_ns ? lives[i].start_ns : life->start_ns;
        life->end_ns = lives[i].end_ns > life->end_ns ? lives[i].end_ns : life->end_ns;
    }
    return kept;
}

static uint64_t most_at_once(const struct life *lives, struct turn *turns, size_t count)
{
    uint64_t now = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        turns[2 * i] = (struct turn){lives[i].start_ns, 1};
        turns[2 * i + 1] = (struct turn){lives[i].end_ns, -1};
    }
    qsort(turns, 2 * count, sizeof *turns, by_time);
    for (size_t i = 0; i < 2 * count; i++) {
        now += (uint64_t)turns[i].change;
        most = now > most ? now : most;
    }
    return most;
}

int loader_workers_find(struct loader_work *work, const struct inventory *survey,
                        const struct gait_trace *trace)
{
    const size_t most = (size_t)survey->shard_count + 1;
    struct life *lives = malloc(most * sizeof *lives);
    struct turn *turns = malloc(2 * most * sizeof *turns);
    size_t count = 0;
    *work = (struct loader_work){.workers = 0};
    if (!lives || !turns) {
        free(lives);
        free(turns);
        return fail(GAIT_ERR_MEMORY, "no memory for %u workers", survey->shard_count);
    }
    for (uint32_t i = 0; i < survey->shard_count; i++) {
        const struct inventory_shard *shard = &survey->shards[i];
        struct gait_shard_info info;
        work->fetch_ns += shard->fetch_ns;
        work->collate_ns += shard->collate_ns;
        work->fetches += shard->events[ROLE_FETCH];
        // a process that evaluates in its own time fetches, too, and is no worker
        if (!shard->fetch_ns || gait_trace_shard(trace, i, &info) ||
            strcmp(info.role, "worker") != 0)
            continue;
        lives[count++] = (struct life){info.host, info.pid, info.start_ns, info.end_ns};
    }
    work->processes = join_lives(lives, count);
    work->workers = most_at_once(lives, turns, work->processes);
    free(lives);
    free(turns);
    return GAIT_OK;
}
