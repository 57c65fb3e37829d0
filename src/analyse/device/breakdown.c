// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/breakdown.h"

#include <stdlib.h>

#include "analyse/device/idle_causes.h"
#include "analyse/time/sweep_states.h"
#include "base/array.h"
#include "base/fail.h"

uint64_t breakdown_time(const struct breakdown *breakdown, unsigned with, unsigned without)
{
    uint64_t sum_ns = 0;
    for (unsigned state = 0; state < DEVICE_STATES; state++)
        if ((state & with) == with && !(state & without))
            sum_ns += breakdown->state_ns[state];
    return sum_ns;
}

void breakdown_rank_finish(struct breakdown_rank *rank)
{
    if (!rank)
        return;
    free(rank->steps);
    *rank = (struct breakdown_rank){.steps = NULL};
}

// --- of one rank ----------------------------------------------------------------------

struct making {
    struct intervals lanes[LANE_COUNT], busy;
    struct interval span; // of all device events, those without length too
    struct idle_causes causes;
};

static void making_finish(struct making *making)
{
    for (unsigned i = 0; i < LANE_COUNT; i++)
        intervals_finish(&making->lanes[i]);
    intervals_finish(&making->busy);
    idle_causes_finish(&making->causes);
}

static int fill_lanes(struct making *making, struct breakdown_rank *rank,
                      const struct device_rows *rows)
{
    int status = GAIT_OK;
    making->span = (struct interval){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < rows->events.count && !status; i++) {
        const struct device_event *event = &rows->events.rows[i];
        const enum device_lane lane = device_rows_lane(rows, event);
        rank->events[lane]++;
        if (event->start_ns < making->span.start_ns)
            making->span.start_ns = event->start_ns;
        if (event->end_ns > making->span.end_ns)
            making->span.end_ns = event->end_ns;
        status = intervals_add(&making->lanes[lane], event->start_ns, event->end_ns);
    }
    for (unsigned i = 0; i < LANE_COUNT; i++) {
        const struct intervals *set = &making->lanes[i];
        intervals_join(&making->lanes[i]);
        for (size_t at = 0; at < set->count && !status; at++)
            status = intervals_add(&making->busy, set->rows[at].start_ns, set->rows[at].end_ns);
    }
    intervals_join(&making->busy);
    return status ? status : idle_causes_find(&making->causes, rows, &making->busy);
}

static void break_down(struct breakdown *breakdown, const struct making *making,
                       struct interval window)
{
    const struct sweep_lanes lanes = {
        {&making->lanes[LANE_COMPUTE], &making->lanes[LANE_COMM], &making->lanes[LANE_COPY]},
        LANE_COUNT};
    breakdown->span_ns =
        window.end_ns > window.start_ns ? (uint64_t)window.end_ns - (uint64_t)window.start_ns : 0;
    sweep_states(&lanes, window, breakdown->state_ns);
    idle_causes_within(&making->causes, window, breakdown->idle_ns);
}

static int make_rank(struct breakdown_rank *rank, struct making *making,
                     const struct device_rows *rows)
{
    int status = fill_lanes(making, rank, rows);
    if (status)
        return status;
    rank->has_device = rows->events.count > 0;
    if (rank->has_device) {
        rank->start_ns = making->span.start_ns;
        break_down(&rank->whole, making, making->span);
    }
    rank->steps = calloc(rows->step_count + 1, sizeof *rank->steps);
    if (!rank->steps)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", rows->step_count);
    for (size_t i = 0; i < rows->step_count; i++) {
        const struct device_step *step = &rows->steps[i];
        struct breakdown_step *made = &rank->steps[rank->step_count++];
        made->name = step->name;
        made->start_ns = step->start_ns;
        break_down(&made->breakdown, making, (struct interval){step->start_ns, step->end_ns});
    }
    return GAIT_OK;
}

int breakdown_rank_make(struct breakdown_rank *rank, const struct device_rows *rows)
{
    struct making making = {.busy = {.count = 0}};
    *rank = (struct breakdown_rank){.steps = NULL};
    int status = make_rank(rank, &making, rows);
    making_finish(&making);
    if (status)
        breakdown_rank_finish(rank);
    return status;
}
