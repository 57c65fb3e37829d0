// SPDX-License-Identifier: Apache-2.0
// A worker counts as long as its process lives.
#include "analyse/verdict/loader_workers.h"

#include <stdlib.h>

#include <gait/trace.h>

#include "analyse/job/inventory.h"
#include "base/fail.h"

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

static uint64_t most_at_once(struct turn *turns, size_t count)
{
    uint64_t now = 0, most = 0;
    qsort(turns, count, sizeof *turns, by_time);
    for (size_t i = 0; i < count; i++) {
        now += (uint64_t)turns[i].change;
        most = now > most ? now : most;
    }
    return most;
}

int loader_workers_find(struct loader_work *work, const struct inventory *survey,
                        const struct gait_trace *trace)
{
    struct turn *turns = malloc((2 * (size_t)survey->shard_count + 1) * sizeof *turns);
    size_t count = 0;
    *work = (struct loader_work){.workers = 0};
    if (!turns)
        return fail(GAIT_ERR_MEMORY, "no memory for %u workers", survey->shard_count);
    for (uint32_t i = 0; i < survey->shard_count; i++) {
        const struct inventory_shard *shard = &survey->shards[i];
        struct gait_shard_info life;
        work->fetch_ns += shard->fetch_ns;
        work->collate_ns += shard->collate_ns;
        work->fetches += shard->events[ROLE_FETCH];
        if (!shard->fetch_ns || shard->is_stepping || gait_trace_shard(trace, i, &life))
            continue;
        turns[count++] = (struct turn){life.start_ns, 1};
        turns[count++] = (struct turn){life.end_ns, -1};
        work->processes++;
    }
    work->workers = most_at_once(turns, count);
    free(turns);
    return GAIT_OK;
}
