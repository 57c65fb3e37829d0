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
    free(rank->devices);
    *rank = (struct breakdown_rank){.steps = NULL};
}

// --- of one rank ----------------------------------------------------------------------

struct making {
    struct intervals lanes[LANE_COUNT], busy, waits[WAIT_COUNT];
    struct idle_causes causes;
};

static void making_finish(struct making *making)
{
    for (unsigned i = 0; i < LANE_COUNT; i++)
        intervals_finish(&making->lanes[i]);
    for (unsigned i = 0; i < WAIT_COUNT; i++)
        intervals_finish(&making->waits[i]);
    intervals_finish(&making->busy);
    idle_causes_finish(&making->causes);
}

static int fill_waits(struct making *making, const struct device_rows *rows)
{
    int status = GAIT_OK;
    for (unsigned i = 0; i < WAIT_COUNT; i++) {
        const struct device_list *list = &rows->waits[i];
        for (size_t at = 0; at < list->count && !status; at++)
            status =
                intervals_add(&making->waits[i], list->rows[at].start_ns, list->rows[at].end_ns);
        intervals_join(&making->waits[i]);
    }
    return status;
}

static int fill_lanes(struct making *making, const struct device_rows *rows, uint64_t *events)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < rows->events.count && !status; i++) {
        const struct device_event *event = &rows->events.rows[i];
        const enum device_lane lane = device_rows_lane(rows, event);
        events[lane]++;
        status = intervals_add(&making->lanes[lane], event->start_ns, event->end_ns);
    }
    for (unsigned i = 0; i < LANE_COUNT; i++) {
        const struct intervals *set = &making->lanes[i];
        intervals_join(&making->lanes[i]);
        for (size_t at = 0; at < set->count && !status; at++)
            status = intervals_add(&making->busy, set->rows[at].start_ns, set->rows[at].end_ns);
    }
    intervals_join(&making->busy);
    if (!status)
        status = fill_waits(making, rows);
    return status ? status : idle_causes_find(&making->causes, rows, &making->busy);
}

static void add_waits(uint64_t *waiting_ns, const struct making *making, struct interval window)
{
    enum { INPUT = 1, DEVICE = 2, STATES = 8 }; // the third lane: a device is busy
    const struct sweep_lanes lanes = {
        {&making->waits[WAIT_INPUT], &making->waits[WAIT_DEVICE], &making->busy}, WAIT_COUNT + 1};
    uint64_t states[STATES] = {0};
    sweep_states(&lanes, window, states);
    waiting_ns[WAIT_INPUT] += states[INPUT] + states[INPUT | DEVICE];
    waiting_ns[WAIT_DEVICE] += states[DEVICE];
}

// Adds: a rank may have several windows.
static void break_down(struct breakdown *breakdown, const struct making *making,
                       struct interval window)
{
    const struct sweep_lanes lanes = {
        {&making->lanes[LANE_COMPUTE], &making->lanes[LANE_COMM], &making->lanes[LANE_COPY]},
        LANE_COUNT};
    uint64_t states[DEVICE_STATES] = {0};
    if (window.end_ns > window.start_ns)
        breakdown->span_ns += (uint64_t)window.end_ns - (uint64_t)window.start_ns;
    sweep_states(&lanes, window, states);
    for (unsigned state = 0; state < DEVICE_STATES; state++)
        breakdown->state_ns[state] += states[state];
    idle_causes_within(&making->causes, window, breakdown->idle_ns);
    add_waits(breakdown->waiting_ns, making, window);
}

static void break_down_windows(struct breakdown *breakdown, const struct making *making,
                               const struct device_rows *rows)
{
    for (size_t i = 0; i < rows->window_count; i++)
        break_down(breakdown, making,
                   (struct interval){rows->windows[i].start_ns, rows->windows[i].end_ns});
}

static int make_rank(struct breakdown_rank *rank, struct making *making,
                     const struct device_rows *rows)
{
    int status = fill_lanes(making, rows, rank->events);
    if (status)
        return status;
    rank->has_device = rows->events.count > 0;
    rank->start_ns = rank->has_device ? rows->events.rows->start_ns : 0;
    break_down_windows(&rank->whole, making, rows);
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

// --- of each of its devices -------------------------------------------------------------

static int by_device(const void *left, const void *right)
{
    const struct breakdown_device *a = left, *b = right;
    return a->device < b->device ? -1 : a->device > b->device;
}

static int find_devices(struct breakdown_rank *rank, const struct device_rows *rows)
{
    const struct array_shape shape = {sizeof *rank->devices, 1 << 20};
    size_t capacity = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < rows->events.count && !status; i++) {
        const int32_t device = device_rows_device(rows, rows->events.rows[i].track);
        size_t at = 0;
        while (at < rank->device_count && rank->devices[at].device != device)
            at++;
        if (at < rank->device_count)
            continue;
        status = array_reserve((void **)&rank->devices, &capacity, at + 1, shape);
        if (!status)
            rank->devices[rank->device_count++] = (struct breakdown_device){.device = device};
    }
    if (rank->device_count)
        qsort(rank->devices, rank->device_count, sizeof *rank->devices, by_device);
    if (rank->device_count == 1)
        rank->device_count = 0; // it is the rank
    return status;
}

static int make_device(struct breakdown_device *device, const struct device_rows *rows)
{
    struct making making = {.busy = {.count = 0}};
    struct device_rows own = *rows; // with its events alone
    own.events = (struct device_list){.rows = malloc(rows->events.count * sizeof *own.events.rows)};
    if (!own.events.rows)
        return fail(GAIT_ERR_MEMORY, "no memory for the events of a device");
    for (size_t i = 0; i < rows->events.count; i++)
        if (device_rows_device(rows, rows->events.rows[i].track) == device->device)
            own.events.rows[own.events.count++] = rows->events.rows[i];
    int status = fill_lanes(&making, &own, device->events);
    break_down_windows(&device->whole, &making, &own);
    making_finish(&making);
    free(own.events.rows);
    return status;
}

int breakdown_rank_make(struct breakdown_rank *rank, const struct device_rows *rows)
{
    struct making making = {.busy = {.count = 0}};
    *rank = (struct breakdown_rank){.steps = NULL};
    int status = make_rank(rank, &making, rows);
    making_finish(&making);
    if (!status)
        status = find_devices(rank, rows);
    for (size_t i = 0; i < rank->device_count && !status; i++)
        status = make_device(&rank->devices[i], rows);
    if (status)
        breakdown_rank_finish(rank);
    return status;
}
