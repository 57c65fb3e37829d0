// SPDX-License-Identifier: Apache-2.0
// What was taken and given back are marks, counters and events of memory, which facts do not
// have: they come by a cursor, rank by rank. Where a thread is then, the rows of the rank tell,
// which are read as far as someone asks.
#include "analyse/memory/memory_life.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_taking.h"
#include "base/array.h"
#include "base/fail.h"
#include "facts/rank_stream.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

#define MOST_DEVICES ((size_t)1 << 20)
#define MOST_WINDOWS ((size_t)1 << 26)
#define MOST_DEPTH ((size_t)1 << 16)

// Spans that a thread is in.
struct nest {
    struct open_span {
        int64_t end_ns;
        uint32_t site;
        uint32_t place; // 0: nobody has asked yet
    } *open;
    size_t depth, room;
    const struct fact_row *next, *behind; // of the slice, those that have yet to begin
};

struct window { // its begin or end
    int64_t at_ns;
    bool is_end;
    uint32_t rank, shard;
};

struct walk {
    struct memory_life *life;
    struct gait_trace *trace;
    const struct chosen *chosen; // or NULL
    struct nest *nests;          // by track
    uint8_t *kinds;              // of sites: enum site_kind
    struct tuple_map devices;
    uint32_t rank; // its shard
    struct window *windows;
    size_t window_count, window_room, next_window;
    struct rank_stream *stream;
    struct fact_slice slice; // until INT64_MAX: there is no more
    bool has_peaks_alone;
};

enum site_kind {
    SITE_NONE,
    SITE_SPAN,
    SITE_MEMORY,
    SITE_SEGMENT, // what else an allocator tells
    SITE_PROCESS,
};

static enum site_kind kind_of(const struct gait_trace *trace, uint32_t number)
{
    static const uint8_t of_roles[ROLE_COUNT] = {
        [ROLE_OP] = SITE_SPAN,
        [ROLE_ANNOTATION] = SITE_SPAN,
        [ROLE_STEP] = SITE_SPAN,
        [ROLE_MODULE] = SITE_SPAN,
        [ROLE_PYTHON] = SITE_SPAN,
        [ROLE_PHASE] = SITE_SPAN,
        [ROLE_MODULE_BACKWARD] = SITE_SPAN,
        [ROLE_MEMORY] = SITE_MEMORY,
        [ROLE_PROCESS_MEMORY] = SITE_PROCESS,
    };
    struct gait_site_info site;
    if (gait_trace_site(trace, number, &site))
        return SITE_NONE;
    if (!strcmp(site.category, "memory_segment"))
        return SITE_SEGMENT;
    // the 2021 traces have no category for it
    return !strcmp(site.name, "[memory]") ? SITE_MEMORY
                                          : (enum site_kind)of_roles[site_role(trace, number)];
}

// --- where threads are --------------------------------------------------------------

static void leave(struct nest *nest, int64_t at_ns, bool is_span)
{
    while (nest->depth) {
        const int64_t end_ns = nest->open[nest->depth - 1].end_ns;
        if (end_ns > at_ns || (end_ns == at_ns && !is_span))
            return;
        nest->depth--;
    }
}

// Begins spans of the slice up to that time.
static int enter(const struct walk *walk, struct nest *nest, int64_t until_ns)
{
    int status = GAIT_OK;
    for (; nest->next < nest->behind && nest->next->start_ns <= until_ns && !status; nest->next++) {
        const struct fact_row *row = nest->next;
        if (walk->kinds[row->site] != SITE_SPAN)
            continue;
        leave(nest, row->start_ns, true);
        status = ARRAY_ADD(nest->open, nest->depth, nest->room, MOST_DEPTH,
                           &(struct open_span){row->end_ns, row->site, 0});
    }
    return status;
}

static int next_slice(struct walk *walk)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < walk->slice.count && !status; i++)
        status = enter(walk, &walk->nests[walk->slice.tracks[i].track], INT64_MAX);
    if (!status && !walk->stream)
        status = rank_stream_open(&walk->stream, walk->trace, walk->rank,
                                  &(struct stream_wish){.columns = 0});
    walk->slice.count = 0;
    if (!status)
        status = rank_stream_next(walk->stream, &walk->slice);
    if (!status)
        walk->slice.until_ns = INT64_MAX;
    for (size_t i = 0; i < walk->slice.count && status == 1; i++) {
        const struct fact_rows *track = &walk->slice.tracks[i];
        walk->nests[track->track].next = track->rows;
        walk->nests[track->track].behind = track->rows + track->count;
    }
    return status < 0 ? status : GAIT_OK;
}

static int find_place(struct walk *walk, uint32_t track, int64_t at_ns, uint32_t *ret_place)
{
    struct nest *nest = &walk->nests[track];
    uint32_t place = 0;
    int status = GAIT_OK;
    while (!status && at_ns >= walk->slice.until_ns && walk->slice.until_ns != INT64_MAX)
        status = next_slice(walk);
    if (!status)
        status = enter(walk, nest, at_ns);
    leave(nest, at_ns, false);
    size_t known = nest->depth; // those below have a place since they were looked at
    while (known && !nest->open[known - 1].place)
        known--;
    if (known)
        place = nest->open[known - 1].place;
    for (size_t i = known; i < nest->depth && !status; i++) {
        struct open_span *open = &nest->open[i];
        status = memory_owners_within(&walk->life->owners, place, open->site, &open->place);
        place = open->place;
    }
    *ret_place = place;
    return status;
}

// --- devices ------------------------------------------------------------------------

static void name_device(char name[40], int64_t type, int64_t number)
{
    static const char *const words[] = {[0] = "cpu",  [1] = "cuda", [6] = "hip",  [9] = "xla",
                                        [12] = "xpu", [13] = "mps", [15] = "hpu", [19] = "mtia"};
    const char *word =
        type >= 0 && type < (int64_t)(sizeof words / sizeof words[0]) ? words[type] : NULL;
    if (!word)
        snprintf(name, 40, "device %" PRId64 ":%" PRId64, type, number);
    else if (number < 0)
        snprintf(name, 40, "%s", word);
    else
        snprintf(name, 40, "%s:%" PRId64, word, number);
}

static uint32_t shard_of(const struct walk *walk, uint32_t track)
{
    return walk->trace->run.tracks.tracks[track].info.shard;
}

// By its shard and two numbers that tell it from the shard's others.
static int find_device(struct walk *walk, uint32_t shard, const int64_t who[2],
                       struct memory_device **ret_device)
{
    struct memory_life *life = walk->life;
    const uint64_t key[] = {shard, (uint64_t)who[0], (uint64_t)who[1]};
    const size_t known = walk->devices.count;
    uint32_t index;
    int status = tuple_map_add(&walk->devices, key, &index);
    if (!status && walk->devices.count > known) {
        status = ARRAY_RESERVE(life->devices, life->device_room, index + 1, MOST_DEVICES);
        if (status)
            return status;
        life->devices[index] =
            (struct memory_device){.failed_free_bytes = -1, .shard_number = shard};
        life->device_count = index + 1;
        name_device(life->devices[index].name, who[0], who[1]);
        status = gait_trace_shard(walk->trace, shard, &life->devices[index].shard);
        if (!status)
            status = memory_taking_begin(&life->devices[index],
                                         walk->chosen ? &walk->chosen->times[walk->rank] : NULL);
    }
    if (!status)
        *ret_device = &life->devices[index];
    return status;
}

// --- events -------------------------------------------------------------------------

static void read_args(const struct gait_event *event, struct memory_change *change, int64_t who[2])
{
    const struct {
        const char *key;
        int64_t *value;
        bool *is_there;
    } wanted[] = {
        {"Device Type", &who[0], NULL},
        {"Device Id", &who[1], NULL},
        {"Addr", &change->address, &change->has_address},
        {"Bytes", &change->bytes, NULL},
        {"Total Allocated", &change->allocated, &change->has_allocated},
        {"Total Reserved", &change->reserved, &change->has_reserved},
        {"Before", NULL, &change->is_older},
        {"Device Free", &change->free_bytes, NULL},
    };
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct gait_arg *arg = &event->args[i];
        if (arg->kind == GAIT_ARG_TEXT && !strcmp(arg->key, "Call stack"))
            change->stack = arg->text;
        for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
            if (arg->kind != GAIT_ARG_INT || strcmp(arg->key, wanted[k].key) != 0)
                continue;
            if (wanted[k].value)
                *wanted[k].value = arg->integer;
            if (wanted[k].is_there)
                *wanted[k].is_there = true;
        }
    }
}

static int take_memory(struct walk *walk, const struct gait_event *event, bool is_segment)
{
    const uint32_t shard = shard_of(walk, event->track);
    const bool is_ours = event->kind == GAIT_KIND_MEMORY;
    struct memory_change change = {.at_ns = event->start_ns, .free_bytes = -1};
    int64_t who[2] = {0, -1};
    struct memory_device *device;
    if (is_ours) {
        who[0] = -1 - (int64_t)event->site;
        change.address = (int64_t)event->id;
        change.has_address = true;
        change.bytes = event->value;
    } else {
        read_args(event, &change, who);
    }
    int status = find_device(walk, shard, who, &device);
    if (status)
        return status;
    if (is_ours)
        snprintf(device->name, sizeof device->name, "%s", event->name);
    if (is_segment) {
        memory_taking_segment(device, &change, strcmp(event->name, "oom") == 0);
        return GAIT_OK;
    }
    status = change.stack ? memory_owners_stack(&walk->life->owners, change.stack, &change.place)
                          : find_place(walk, event->track, event->start_ns, &change.place);
    change.category = memory_owners_category(&walk->life->owners, change.place);
    return status ? status : memory_taking_add(device, &change);
}

static int take_process(struct walk *walk, const struct gait_event *event)
{
    static const int64_t who[] = {INT64_MIN, 0};
    struct memory_device *device;
    const int status = find_device(walk, shard_of(walk, event->track), who, &device);
    if (status)
        return status;
    snprintf(device->name, sizeof device->name, "process");
    device->is_process = true;
    memory_taking_gauge(device, event->start_ns, event->value);
    return GAIT_OK;
}

static void begin_windows(struct walk *walk, int64_t until_ns)
{
    for (; walk->next_window < walk->window_count; walk->next_window++) {
        const struct window *window = &walk->windows[walk->next_window];
        if (window->rank > walk->rank ||
            (window->rank == walk->rank && window->at_ns > until_ns - window->is_end))
            return;
        for (size_t i = 0; i < walk->devices.count; i++)
            if (walk->devices.tuples[3 * i] == window->shard)
                (window->is_end ? memory_taking_pause
                                : memory_taking_restart)(&walk->life->devices[i], window->at_ns);
    }
}

static int see(struct walk *walk, const struct gait_event *event)
{
    switch (event->site < gait_trace_site_count(walk->trace) ? walk->kinds[event->site]
                                                             : SITE_NONE) {
    case SITE_MEMORY:
        if (event->kind != GAIT_KIND_MEMORY && event->kind != GAIT_KIND_MARK)
            return GAIT_OK;
        return take_memory(walk, event, false);
    case SITE_SEGMENT:
        return event->kind == GAIT_KIND_MARK ? take_memory(walk, event, true) : GAIT_OK;
    case SITE_PROCESS:
        return event->kind == GAIT_KIND_COUNTER ? take_process(walk, event) : GAIT_OK;
    default:
        return GAIT_OK;
    }
}

// --- the whole ----------------------------------------------------------------------

static int note_window(struct walk *walk, uint32_t track, int64_t at_ns, bool is_end)
{
    const uint32_t shard = shard_of(walk, track);
    const struct window window = {at_ns, is_end, shard_owner(walk->trace, shard), shard};
    return ARRAY_ADD(walk->windows, walk->window_count, walk->window_room, MOST_WINDOWS, &window);
}

static int note_windows(const struct gait_batch *batch, void *context)
{
    struct walk *walk = context;
    int64_t end_ns;
    int status = GAIT_OK;
    for (size_t i = 0; i < batch->rows && !status; i++) {
        if (site_role(walk->trace, batch->site[i]) != ROLE_WINDOW)
            continue;
        status = note_window(walk, batch->track, batch->start_ns[i], false);
        if (!status && batch->duration_ns && batch->duration_ns[i] >= 0 &&
            !__builtin_add_overflow(batch->start_ns[i], batch->duration_ns[i], &end_ns))
            status = note_window(walk, batch->track, end_ns, true);
    }
    return status;
}

static int by_rank_and_time(const void *left, const void *right)
{
    const struct window *a = left, *b = right;
    RETURN_IF_APART(a->rank, b->rank);
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

// Their ends for a choice alone: to pair them with begins decodes frames four times.
static int find_windows(struct walk *walk)
{
    const struct gait_query query = {
        .size = sizeof query, .internal = !walk->has_peaks_alone, .kinds = 1u << GAIT_KIND_ASYNC};
    const uint32_t ends = walk->chosen ? GAIT_COLUMN_DURATION : 0;
    const int status = gait_scan(walk->trace, &query, GAIT_COLUMN_START | GAIT_COLUMN_SITE | ends,
                                 note_windows, walk);
    if (!status && walk->window_count)
        qsort(walk->windows, walk->window_count, sizeof *walk->windows, by_rank_and_time);
    return status;
}

static int read_events(struct walk *walk, const struct gait_query *query)
{
    struct gait_cursor *cursor;
    struct gait_event event;
    int status = gait_cursor_open(walk->trace, query, &cursor);
    if (status)
        return status;
    while ((status = gait_cursor_next(cursor, &event)) == 1) {
        begin_windows(walk, event.start_ns);
        status = see(walk, &event);
        if (status)
            break;
    }
    begin_windows(walk, INT64_MAX);
    gait_cursor_close(cursor);
    return status;
}

static void add_tracks(const struct run *run, uint32_t shard, struct gait_query *query,
                       uint32_t *tracks)
{
    const size_t end = shard + 1 < run->shard_count ? run->shards[shard + 1]->dictionary.first_track
                                                    : run->tracks.count;
    for (size_t i = run->shards[shard]->dictionary.first_track; i < end; i++)
        tracks[query->track_count++] = (uint32_t)i;
}

static int read_rank(struct walk *walk, uint32_t rank, uint32_t *tracks)
{
    const struct run *run = &walk->trace->run;
    struct gait_query query = {.size = sizeof query,
                               .internal = !walk->has_peaks_alone,
                               .kinds = 1u << GAIT_KIND_MEMORY,
                               .tracks = tracks};
    if (!walk->has_peaks_alone)
        query.kinds |= 1u << GAIT_KIND_MARK | 1u << GAIT_KIND_COUNTER;
    add_tracks(run, rank, &query, tracks);
    for (uint32_t i = shard_owned_first(run, rank); i != RUN_NO_SHARD; i = shard_owned_next(run, i))
        add_tracks(run, i, &query, tracks);
    walk->rank = rank;
    walk->slice = (struct fact_slice){.until_ns = walk->has_peaks_alone ? INT64_MAX : INT64_MIN};
    const int status = query.track_count ? read_events(walk, &query) : GAIT_OK;
    rank_stream_close(walk->stream);
    walk->stream = NULL;
    return status;
}

static int read_ranks(struct walk *walk)
{
    uint32_t *tracks = malloc(((size_t)gait_trace_track_count(walk->trace) + 1) * sizeof *tracks);
    int status =
        tracks ? find_windows(walk) : fail(GAIT_ERR_MEMORY, "no memory to follow allocations");
    for (uint32_t i = 0; i < gait_trace_shard_count(walk->trace) && !status; i++)
        if (shard_owner(walk->trace, i) == i)
            status = read_rank(walk, i, tracks);
    free(tracks);
    return status;
}

static int by_device(const void *left, const void *right)
{
    const struct memory_device *a = left, *b = right;
    RETURN_IF_APART(a->shard.rank, b->shard.rank);
    RETURN_IF_APART(a->shard.pid, b->shard.pid);
    if (a->is_process != b->is_process)
        return a->is_process ? 1 : -1;
    return strcmp(a->name, b->name);
}

// Those of which nothing is chosen are left out.
static int end_devices(struct memory_life *life, bool is_part)
{
    const size_t count = life->device_count;
    int status = GAIT_OK;
    ARRAY_SORT(life->devices, life->device_count, by_device);
    life->device_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct memory_device *device = &life->devices[i];
        memory_taking_end(device);
        if (is_part && !device->is_chosen) {
            memory_taking_drop(device);
            free(device->curve);
        } else {
            life->devices[life->device_count++] = *device;
        }
    }
    for (uint32_t i = 0; i < life->device_count && !status; i++)
        status = memory_holders_add(life, i);
    memory_holders_sort(life);
    return status;
}

static int init(struct walk *walk)
{
    const uint32_t tracks = gait_trace_track_count(walk->trace);
    const uint32_t sites = gait_trace_site_count(walk->trace);
    const int status = memory_owners_init(&walk->life->owners, walk->trace);
    tuple_map_init(&walk->devices, 3);
    walk->nests = calloc(tracks + (size_t)1, sizeof *walk->nests);
    walk->kinds = calloc(sites + (size_t)1, 1);
    if (status || !walk->nests || !walk->kinds)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory to follow allocations");
    for (uint32_t i = 0; i < sites; i++)
        walk->kinds[i] = (uint8_t)kind_of(walk->trace, i);
    return GAIT_OK;
}

static int make(struct memory_life *life, struct walk walk)
{
    struct gait_trace *trace = walk.trace;
    walk.life = life;
    *life = (struct memory_life){.device_count = 0};
    int status = init(&walk);
    if (!status)
        status = read_ranks(&walk);
    if (!status)
        status = end_devices(life, walk.chosen != NULL);
    for (uint32_t i = 0; walk.nests && i < gait_trace_track_count(trace); i++)
        free(walk.nests[i].open);
    free(walk.nests);
    free(walk.windows);
    free(walk.kinds);
    tuple_map_finish(&walk.devices);
    if (status)
        memory_life_finish(life);
    return status;
}

int memory_life_make(struct memory_life *life, struct gait_trace *trace,
                     const struct chosen *chosen)
{
    return make(life, (struct walk){.trace = trace, .chosen = chosen});
}

static uint64_t count_events(const struct run *run)
{
    uint64_t count = 0;
    for (size_t i = 0; i < run->shard_count; i++) {
        const struct frame_list *list = &run->shards[i]->shard.list;
        for (size_t k = 0; k < list->count; k++)
            count += list->entries[k].table == TABLE_MEMORY ? list->entries[k].events : 0;
    }
    return count;
}

int memory_life_peaks(struct memory_life *life, struct gait_trace *trace)
{
    *life = (struct memory_life){.device_count = 0};
    return count_events(&trace->run) > MEMORY_MOST_EVENTS
               ? GAIT_OK
               : make(life, (struct walk){.trace = trace, .has_peaks_alone = true});
}

const struct memory_device *memory_life_fullest(const struct memory_life *life)
{
    const struct memory_device *best = NULL;
    for (size_t i = 0; i < life->device_count; i++) {
        const struct memory_device *device = &life->devices[i];
        if (!best || (best->is_process && !device->is_process) ||
            (best->is_process == device->is_process && device->peak_bytes > best->peak_bytes))
            best = device;
    }
    return best;
}

void memory_life_finish(struct memory_life *life)
{
    for (size_t i = 0; i < life->device_count; i++) {
        memory_taking_drop(&life->devices[i]);
        free(life->devices[i].curve);
    }
    memory_owners_finish(&life->owners);
    free(life->devices);
    free(life->holders);
    *life = (struct memory_life){.device_count = 0};
}
