// SPDX-License-Identifier: Apache-2.0
// A row of the open spans for each thread; each knows the place inside it.
#include "analyse/ops/op_walk.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/job/inventory.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/ops/op_event.h"
#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_OPEN = 1 << 16 };

struct open_span {
    int64_t end_ns;
    struct torch_place inside;
    bool is_op;
};

struct walk_track {
    struct open_span *open;
    size_t count, room;
    uint32_t *ops; // the ops among them
    size_t op_count, op_room;
};

struct walking {
    const struct op_walk *walk;
    struct walk_track *tracks;
    uint32_t track_count;
    struct tuple_map nodes; // autograd nodes to the module of their forward
    uint32_t *node_modules;
    size_t node_room;
};

static void leave_ended(struct walk_track *track, int64_t now_ns)
{
    while (track->count && track->open[track->count - 1].end_ns <= now_ns)
        track->op_count -= track->open[--track->count].is_op;
}

static struct torch_place place_of(const struct walk_track *track)
{
    if (track->count)
        return track->open[track->count - 1].inside;
    return (struct torch_place){TORCH_NOWHERE, TORCH_NOWHERE, TORCH_OTHER, -1};
}

static int enter(struct walk_track *track, const struct gait_event *event, bool is_op,
                 struct torch_place inside)
{
    const struct array_shape spans = {sizeof *track->open, MOST_OPEN};
    const struct array_shape ops = {sizeof *track->ops, MOST_OPEN};
    int status = array_reserve((void **)&track->open, &track->room, track->count + 1, spans);
    if (!status)
        status = array_reserve((void **)&track->ops, &track->op_room, track->op_count + 1, ops);
    if (status)
        return status;
    const int64_t end_ns =
        event->duration_ns < 0 ? INT64_MAX : event->start_ns + event->duration_ns;
    track->open[track->count++] = (struct open_span){end_ns, inside, is_op};
    if (is_op)
        track->ops[track->op_count++] = event->site;
    return GAIT_OK;
}

// Of forward ops the last one with a number made the node of that number.
static int note_module(struct walking *walking, int64_t seq, uint32_t module)
{
    const struct array_shape shape = {sizeof *walking->node_modules, UINT32_MAX};
    const uint64_t key = (uint64_t)seq;
    uint32_t index;
    int status = tuple_map_add(&walking->nodes, &key, &index);
    if (!status)
        status = array_reserve((void **)&walking->node_modules, &walking->node_room,
                               walking->nodes.count, shape);
    if (!status)
        walking->node_modules[index] = module;
    return status;
}

static uint32_t module_of(const struct walking *walking, int64_t seq)
{
    const uint64_t key = (uint64_t)seq;
    const uint32_t index = tuple_map_find(&walking->nodes, &key);
    return index == TUPLE_NONE ? TORCH_NOWHERE : walking->node_modules[index];
}

static bool touches(const struct op_walker *walker, const struct gait_event *event)
{
    int64_t end_ns = INT64_MAX;
    if (event->duration_ns >= 0 &&
        __builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns))
        end_ns = INT64_MAX;
    return (!walker->until_ns || event->start_ns < walker->until_ns) &&
           (!walker->since_ns || event->start_ns >= walker->since_ns || end_ns > walker->since_ns);
}

static int show(const struct op_walk *walk, const struct torch_event *seen)
{
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < walk->walker_count; i++) {
        if (touches(&walk->walkers[i], seen->event))
            status = walk->walkers[i].visit(seen, walk->walkers[i].context);
    }
    return status;
}

static int see_op(struct walking *walking, struct walk_track *track, const struct gait_event *event)
{
    const int64_t seq = op_event_number(event, "seq", -1);
    struct torch_place place = place_of(track), inside = place;
    int status = GAIT_OK;
    inside.op = event->site;
    if (seq >= 0 && op_event_number(event, "scope", 0) == 1) {
        inside.backward = seq;
        if (place.module == TORCH_NOWHERE)
            inside.module = module_of(walking, seq);
        if (place.phase == TORCH_OTHER) // on a thread of the engine's own
            inside.phase = TORCH_BACKWARD;
    } else if (seq >= 0 && place.backward < 0 && place.module != TORCH_NOWHERE) {
        status = note_module(walking, seq, place.module);
    }
    const struct torch_event seen = {event, place, {track->ops, track->op_count}};
    if (!status)
        status = show(walking->walk, &seen);
    return status ? status : enter(track, event, true, inside);
}

static int see_module(struct walking *walking, struct walk_track *track,
                      const struct gait_event *event)
{
    struct torch_place inside = place_of(track);
    uint32_t *parents = walking->walk->module_parents;
    if (parents && parents[event->site] == TORCH_NOWHERE && inside.module != event->site)
        parents[event->site] = inside.module;
    inside.module = event->site;
    return enter(track, event, false, inside);
}

static int see(struct walking *walking, const struct gait_event *event)
{
    const struct op_walk *walk = walking->walk;
    struct walk_track *track = &walking->tracks[event->track];
    const enum role role = torch_phases_role(walk->phases, event->site);
    leave_ended(track, event->start_ns);
    if (event->kind == GAIT_KIND_MEMORY) {
        const struct torch_event seen = {event, place_of(track), {track->ops, track->op_count}};
        return show(walk, &seen);
    }
    if (role == ROLE_OP || role_is_range(role))
        return see_op(walking, track, event);
    if (role == ROLE_MODULE)
        return see_module(walking, track, event);
    struct torch_place inside = place_of(track);
    if (role == ROLE_PHASE)
        inside.phase = walk->phases->site_phases[event->site];
    return enter(track, event, false, inside);
}

static int list_tracks(const struct op_walk *walk, uint32_t *tracks, uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < walk->survey->track_count; i++) {
        struct gait_track_info info;
        if (walk->survey->shard_of[i] != walk->shard)
            continue;
        const int status = gait_trace_track(walk->trace, i, &info);
        if (status)
            return status;
        if (!info.internal)
            tracks[count++] = i;
    }
    *ret_count = count;
    return GAIT_OK;
}

// The time that any of the walkers wants.
static void choose_time(const struct op_walk *walk, struct gait_query *query)
{
    query->since_ns = walk->walker_count ? walk->walkers[0].since_ns : 0;
    query->until_ns = walk->walker_count ? walk->walkers[0].until_ns : 0;
    for (size_t i = 1; i < walk->walker_count; i++) {
        const struct op_walker *walker = &walk->walkers[i];
        if (!walker->since_ns || (query->since_ns && walker->since_ns < query->since_ns))
            query->since_ns = walker->since_ns;
        if (!walker->until_ns || (query->until_ns && walker->until_ns > query->until_ns))
            query->until_ns = walker->until_ns;
    }
}

static int read_events(struct walking *walking, const struct gait_query *query)
{
    struct gait_cursor *cursor;
    struct gait_event event;
    int status = gait_cursor_open(walking->walk->trace, query, &cursor);
    if (status)
        return status;
    while ((status = gait_cursor_next(cursor, &event)) == 1) {
        status = see(walking, &event);
        if (status)
            break;
    }
    gait_cursor_close(cursor);
    return status;
}

static int read_all(struct walking *walking)
{
    const struct op_walk *walk = walking->walk;
    struct gait_query query = {.size = sizeof query,
                               .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_MEMORY};
    uint32_t *tracks = malloc(((size_t)walk->survey->track_count + 1) * sizeof *tracks);
    if (!tracks)
        return fail(GAIT_ERR_MEMORY, "no memory to walk through ops");
    int status = list_tracks(walk, tracks, &query.track_count);
    query.tracks = tracks;
    choose_time(walk, &query);
    if (!status && query.track_count)
        status = read_events(walking, &query);
    free(tracks);
    return status;
}

void op_walk_add(struct op_walk *walk, const struct op_walker *walker)
{
    walk->walkers[walk->walker_count++] = *walker;
}

int op_walk_all(const struct op_walk *walk)
{
    struct walking walking = {.walk = walk, .track_count = walk->survey->track_count};
    walking.tracks = calloc((size_t)walking.track_count + 1, sizeof *walking.tracks);
    tuple_map_init(&walking.nodes, 1);
    int status = walking.tracks ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory to walk through ops");
    if (!status)
        status = read_all(&walking);
    for (uint32_t i = 0; walking.tracks && i < walking.track_count; i++) {
        free(walking.tracks[i].open);
        free(walking.tracks[i].ops);
    }
    tuple_map_finish(&walking.nodes);
    free(walking.node_modules);
    free(walking.tracks);
    return status;
}
