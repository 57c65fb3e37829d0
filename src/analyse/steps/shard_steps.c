// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/shard_steps.h"

#include <stdlib.h>

#include "analyse/steps/each_step.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_STEPS = 1 << 26 };

static int take(void *context, const struct gait_event *event, uint32_t shard)
{
    struct shard_steps *steps = context;
    struct shard_step row = {.step = {event->id, event->start_ns, 0}, .shard = shard};
    if (event->duration_ns < 0 ||
        __builtin_add_overflow(event->start_ns, event->duration_ns, &row.step.end_ns))
        return GAIT_OK;
    return ARRAY_ADD(steps->rows, steps->count, steps->capacity, MOST_STEPS, &row);
}

ARRAY_BY3(by_shard, struct shard_step, shard, step.begin_ns, step.number)

int shard_steps_find(struct shard_steps *steps, struct gait_trace *trace)
{
    *steps = (struct shard_steps){.rows = NULL};
    int status = each_step(trace, false, take, steps);
    ARRAY_SORT(steps->rows, steps->count, by_shard);
    steps->list = malloc((steps->count + 1) * sizeof *steps->list);
    if (!status && !steps->list)
        status = fail(GAIT_ERR_MEMORY, "no memory for the steps of a run");
    for (size_t i = 0; i < steps->count && steps->list; i++)
        steps->list[i] = steps->rows[i].step;
    return status;
}

const struct gait_export_step *shard_steps_of(const struct shard_steps *steps, uint32_t shard,
                                              size_t *ret_count)
{
    size_t first = 0, behind;
    while (first < steps->count && steps->rows[first].shard < shard)
        first++;
    for (behind = first; behind < steps->count && steps->rows[behind].shard == shard;)
        behind++;
    *ret_count = behind - first;
    return &steps->list[first];
}

void shard_steps_finish(struct shard_steps *steps)
{
    free(steps->rows);
    free(steps->list);
    *steps = (struct shard_steps){.rows = NULL};
}
