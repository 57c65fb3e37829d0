// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/stuck/record_look.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gait/trace.h>

#include "analyse/steps/each_step.h"
#include "base/array.h"
#include "base/json_reader.h"
#include "load/order/event_feed.h"
#include "vocabulary/metadata.h"
#include "vocabulary/roles.h"

#define SECOND_NS INT64_C(1000000000)
#define SEEN_NS (600 * SECOND_NS) // of the past
#define MOMENTS_LIMIT (UINT32_C(1) << 20)

struct reading {
    struct gait_trace *trace;
    struct arena *arena;
    struct record_look *look;
    uint32_t track;
    int64_t *moments; // at which the thread told something
    size_t count, capacity;
    uint32_t depth; // of the phase in the look, + 1; 0: none
};

// torch's methods by the names of its functions.
static const char *const kinds[][2] = {
    {"allreduce", "all_reduce"},
    {"allreduce_coalesced", "all_reduce_coalesced"},
    {"allgather", "all_gather"},
    {"allgather_coalesced", "all_gather_coalesced"},
    {"_allgather_base", "all_gather_into_tensor"},
    {"allgather_into_tensor_coalesced", "all_gather_into_tensor"},
    {"_reduce_scatter_base", "reduce_scatter_tensor"},
    {"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor"},
    {"alltoall", "all_to_all"},
    {"alltoall_base", "all_to_all_single"},
};

static const char *kind_of(const char *method)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(method, kinds[i][0]))
            return kinds[i][1];
    return method;
}

static const char *keep(struct reading *reading, const char *text)
{
    const char *kept = arena_text(reading->arena, text, strlen(text));
    return kept ? kept : "";
}

static void take_collective(struct reading *reading, const struct gait_event *event)
{
    struct stuck_collective in = {.kind = STUCK_GRADIENTS};
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct gait_arg *arg = &event->args[i];
        if (!strcmp(arg->key, "collective") && arg->kind == GAIT_ARG_TEXT)
            in.kind = keep(reading, kind_of(arg->text));
        else if (!strcmp(arg->key, "group") && arg->kind == GAIT_ARG_TEXT)
            in.group = keep(reading, arg->text);
        else if (!strcmp(arg->key, "number") && arg->kind == GAIT_ARG_INT)
            in.number = (uint64_t)arg->integer;
    }
    reading->look->in = in;
}

static void take_open(struct reading *reading, const struct gait_event *event)
{
    struct record_look *look = reading->look;
    if (event->kind == GAIT_KIND_STEP)
        look->step = (int64_t)event->id;
    if (event->kind != GAIT_KIND_SPAN || event->depth + 1 < reading->depth ||
        strcmp(event->category, role_category(ROLE_PHASE)) != 0)
        return;
    reading->depth = event->depth + 1;
    look->phase = keep(reading, event->name);
    look->in = (struct stuck_collective){0};
    if (!strcmp(event->name, "communication"))
        take_collective(reading, event);
}

static int add_moment(struct reading *reading, int64_t ns)
{
    if (reading->count >= MOMENTS_LIMIT)
        return GAIT_OK;
    return ARRAY_ADD(reading->moments, reading->count, reading->capacity, MOMENTS_LIMIT, &ns);
}

static int take_event(void *context, const struct gait_event *event)
{
    struct reading *reading = context;
    int64_t end_ns = event->start_ns;
    reading->look->events++;
    if (event->duration_ns < 0)
        take_open(reading, event);
    else if (__builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns))
        end_ns = event->start_ns;
    int status = add_moment(reading, event->start_ns);
    if (!status && end_ns != event->start_ns)
        status = add_moment(reading, end_ns);
    if (end_ns > reading->look->last_ns)
        reading->look->last_ns = end_ns;
    return status;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void find_longest(struct reading *reading)
{
    ARRAY_SORT(reading->moments, reading->count, by_time);
    for (size_t i = 1; i < reading->count; i++)
        if (reading->moments[i] - reading->moments[i - 1] > reading->look->longest_ns)
            reading->look->longest_ns = reading->moments[i] - reading->moments[i - 1];
}

// The thread that told most, which is the one that trains.
static bool choose_track(struct reading *reading)
{
    struct gait_track_info info;
    uint64_t most = 0;
    for (uint32_t i = 0; i < gait_trace_track_count(reading->trace); i++) {
        if (gait_trace_track(reading->trace, i, &info) || info.kind != GAIT_TRACK_THREAD ||
            info.internal || info.events <= most)
            continue;
        most = info.events;
        reading->track = i;
        reading->look->tid = info.tid;
    }
    return most > 0;
}

static int read_events(struct reading *reading)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct gait_query query = {
        .size = sizeof query,
        .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_STEP | 1u << GAIT_KIND_MARK,
        .since_ns = (int64_t)now.tv_sec * SECOND_NS - SEEN_NS,
        .tracks = &reading->track,
        .track_count = 1,
    };
    return each_event(reading->trace, &query, take_event, reading);
}

static int read_shard(struct reading *reading)
{
    struct record_look *look = reading->look;
    struct gait_shard_info shard;
    double world = 0;
    int status = gait_trace_shard(reading->trace, 0, &shard);
    if (status)
        return status;
    look->rank = shard.rank;
    look->pid = shard.pid;
    if (json_member_real(gait_trace_metadata(reading->trace, 0, meta.distributed), "world_size",
                         &world))
        look->world = (int64_t)world;
    if (choose_track(reading))
        status = read_events(reading);
    find_longest(reading);
    look->is_read = !status;
    return status;
}

int record_look_take(const char *shard, struct arena *arena, struct record_look *ret_look)
{
    struct record_look look = {.step = -1, .rank = -1};
    struct reading reading = {.arena = arena, .look = &look};
    int status = gait_trace_open(shard, &reading.trace);
    if (!status)
        status = read_shard(&reading);
    free(reading.moments);
    gait_trace_close(reading.trace);
    if (!status)
        *ret_look = look;
    return status;
}

static int count_step(void *context, const struct gait_event *step, uint32_t shard)
{
    int64_t *last = context;
    (void)shard;
    // one that is open is where it stands; the others are done
    const int64_t number = (int64_t)step->id + (step->duration_ns >= 0);
    if (number > *last)
        *last = number;
    return GAIT_OK;
}

int record_look_find_step(const char *shard, struct record_look *look)
{
    struct gait_trace *trace = NULL;
    int64_t step = -1;
    if (look->step >= 0)
        return GAIT_OK;
    int status = gait_trace_open(shard, &trace);
    if (!status)
        status = each_step(trace, false, count_step, &step);
    gait_trace_close(trace);
    if (!status)
        look->step = step;
    return status;
}
