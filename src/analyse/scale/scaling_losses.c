// SPDX-License-Identifier: Apache-2.0
#include "analyse/scale/scaling_losses.h"

#include <string.h>

#include "base/fail.h"

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for parts of steps");
}

static double part_time(const struct scaling *scaling, const struct scale_run *run,
                        const struct scale_part *part)
{
    const bool leaves = scaling->leaves_first && run->epoch_count > 1;
    if (scaling->basis == SCALE_BY_STEP)
        return part->step_s;
    return (part->epochs_s - (leaves ? part->first_s : 0)) / (double)(run->epoch_count - leaves);
}

// The place of the part in the point, which has room for a new one.
static struct scale_part_time *place(struct scale_point *point, const char *name)
{
    for (size_t i = 0; i < point->part_count; i++)
        if (!strcmp(point->parts[i].name, name))
            return &point->parts[i];
    point->parts[point->part_count] = (struct scale_part_time){name, 0};
    return &point->parts[point->part_count++];
}

int scaling_parts_find(struct scaling *scaling, struct scale_point *point,
                       const struct scale_members *members)
{
    size_t most = 0, timed = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct scale_run *run = members->runs[i];
        if (!(scaling_time(scaling, run) > 0))
            continue;
        if (!run->part_count)
            return GAIT_OK;
        most += run->part_count;
        timed++;
    }
    point->parts = arena_take(&scaling->arena, (most + 1) * sizeof *point->parts);
    if (!point->parts)
        return no_memory();
    for (size_t i = 0; i < members->count; i++) {
        const struct scale_run *run = members->runs[i];
        for (size_t k = 0; scaling_time(scaling, run) > 0 && k < run->part_count; k++)
            place(point, run->parts[k].name)->seconds +=
                part_time(scaling, run, &run->parts[k]) / (double)timed;
    }
    return GAIT_OK;
}

static double seconds_of(const struct scale_point *point, const char *name)
{
    for (size_t i = 0; i < point->part_count; i++)
        if (!strcmp(point->parts[i].name, name))
            return point->parts[i].seconds;
    return 0;
}

static void add(struct scale_point *point, const struct scale_point *base, const char *name)
{
    const double here = seconds_of(point, name) / point->time_s.mean;
    const double there = seconds_of(base, name) / base->time_s.mean * base->cost / point->cost;
    point->losses[point->loss_count++] = (struct scale_loss){name, here - there};
}

int scaling_losses_find(struct scaling *scaling, struct scale_point *point,
                        const struct scale_point *base)
{
    const size_t most = point->part_count + base->part_count;
    if (!point->part_count || !base->part_count || point == base)
        return GAIT_OK;
    point->losses = arena_take(&scaling->arena, most * sizeof *point->losses);
    if (!point->losses)
        return no_memory();
    for (size_t i = 0; i < point->part_count; i++)
        add(point, base, point->parts[i].name);
    for (size_t i = 0; i < base->part_count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < point->part_count; k++)
            is_new = is_new && strcmp(point->parts[k].name, base->parts[i].name) != 0;
        if (is_new)
            add(point, base, base->parts[i].name);
    }
    return GAIT_OK;
}
