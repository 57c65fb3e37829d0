// SPDX-License-Identifier: Apache-2.0
// A row of the open spans for each thread; each knows the place inside it.
#include "analyse/ops/op_walk.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/job/inventory.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"
#include "facts/facts.h"
#include "facts/feed.h"
#include "load/arg_keys.h"
#include "load/order/event_feed.h"

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

enum { SEQ, SCOPE, SHAPES, KEYS };
static const char *const key_names[KEYS] = {"seq", "scope", "shapes"};

struct walking {
    const struct op_walk *walk;
    struct walk_track *tracks;
    uint32_t track_count;
    struct feed feed;
    uint8_t *kinds; // of a site, for the feed
    struct arg_keys keys;
    struct event_feed memory; // allocations
    struct tuple_map nodes;   // autograd nodes to the module of their forward
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
    int status = ARRAY_RESERVE(track->open, track->room, track->count + 1, MOST_OPEN);
    if (!status)
        status = ARRAY_RESERVE(track->ops, track->op_room, track->op_count + 1, MOST_OPEN);
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
    const uint64_t key = (uint64_t)seq;
    uint32_t index;
    int status = tuple_map_add(&walking->nodes, &key, &index);
    if (!status)
        status = ARRAY_RESERVE(walking->node_modules, walking->node_room, walking->nodes.count,
                               UINT32_MAX);
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

static int64_t number_in(const struct gait_arg *arg, int64_t otherwise)
{
    return arg->kind == GAIT_ARG_INT ? arg->integer : otherwise;
}

static int see_op(struct walking *walking, struct walk_track *track, const struct gait_event *event,
                  const struct gait_arg *args)
{
    const int64_t seq = number_in(&args[SEQ], -1);
    struct torch_place place = place_of(track), inside = place;
    int status = GAIT_OK;
    inside.op = event->site;
    if (seq >= 0 && number_in(&args[SCOPE], 0) == 1) {
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

// Of the arguments the shapes alone are shown.
static int see_named(struct walking *walking, const struct fact_slice *slice,
                     const struct fact_row *row, const struct gait_event *span)
{
    struct gait_arg args[KEYS];
    struct gait_site_info site;
    struct gait_event event = *span;
    int status = gait_trace_site(walking->walk->trace, row->site, &site);
    if (!status)
        status = fact_args(slice, row, &walking->keys, args);
    if (status)
        return status;
    event.name = site.name;
    event.args = &args[SHAPES];
    event.arg_count = args[SHAPES].key != NULL;
    return see_op(walking, &walking->tracks[event.track], &event, args);
}

static int see_span(struct walking *walking, const struct fact_slice *slice,
                    const struct feed_head *head)
{
    const struct op_walk *walk = walking->walk;
    const struct fact_row *row = head->row;
    const enum role role = torch_phases_role(walk->phases, row->site);
    struct walk_track *track = &walking->tracks[head->track->track];
    const struct gait_event event = {
        .kind = GAIT_KIND_SPAN,
        .track = head->track->track,
        .site = row->site,
        .start_ns = row->start_ns,
        .duration_ns = row->end_ns == FACT_OPEN ? -1 : row->end_ns - row->start_ns};
    leave_ended(track, row->start_ns);
    if (role == ROLE_MODULE)
        return see_module(walking, track, &event);
    if (role != ROLE_PHASE)
        return see_named(walking, slice, row, &event);
    struct torch_place inside = place_of(track);
    inside.phase = walk->phases->site_phases[row->site];
    return enter(track, &event, false, inside);
}

static int see_memory(void *context, const struct gait_event *event)
{
    const struct walking *walking = context;
    struct walk_track *track = &walking->tracks[event->track];
    leave_ended(track, event->start_ns);
    const struct torch_event seen = {event, place_of(track), {track->ops, track->op_count}};
    return show(walking->walk, &seen);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct walking *walking = made;
    const struct feed_head *head;
    int status = feed_begin(&walking->feed, slice, walking->kinds);
    while (!status && (head = feed_next(&walking->feed))) {
        status = event_feed_until(&walking->memory, head->start_ns, see_memory, walking);
        if (!status)
            status = see_span(walking, slice, head);
    }
    return status;
}

static int end(void *made)
{
    struct walking *walking = made;
    return event_feed_until(&walking->memory, INT64_MAX, see_memory, walking);
}

static const struct fact_consumer consumer = {
    .name = "op walk",
    .columns = FACT_ARGS,
    .slice = add_slice,
    .end = end,
};

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

static int read_all(struct walking *walking)
{
    const struct op_walk *walk = walking->walk;
    const struct fact_ask ask = {&consumer, walking};
    const struct fact_range range = {.shard = walk->shard};
    struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_MEMORY};
    choose_time(walk, &query);
    int status = event_feed_open(&walking->memory, walk->trace, walk->shard, &query);
    if (!status)
        status = facts_run_rank(walk->trace, &range, &ask, 1);
    event_feed_close(&walking->memory);
    return status;
}

static int learn_sites(struct walking *walking)
{
    const uint32_t count = gait_trace_site_count(walking->walk->trace);
    walking->kinds = malloc((size_t)count + 1);
    if (!walking->kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %u names", count);
    for (uint32_t i = 0; i < count; i++) {
        const enum role role = torch_phases_role(walking->walk->phases, i);
        const bool is_wanted =
            role == ROLE_OP || role_is_range(role) || role == ROLE_MODULE || role == ROLE_PHASE;
        walking->kinds[i] = is_wanted ? 0 : FEED_NO_KIND;
    }
    return GAIT_OK;
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
    arg_keys_init(&walking.keys, key_names, KEYS);
    int status = walking.tracks ? learn_sites(&walking)
                                : fail(GAIT_ERR_MEMORY, "no memory to walk through ops");
    if (!status)
        status = read_all(&walking);
    for (uint32_t i = 0; walking.tracks && i < walking.track_count; i++) {
        free(walking.tracks[i].open);
        free(walking.tracks[i].ops);
    }
    tuple_map_finish(&walking.nodes);
    arg_keys_finish(&walking.keys);
    feed_finish(&walking.feed);
    free(walking.kinds);
    free(walking.node_modules);
    free(walking.tracks);
    return status;
}
