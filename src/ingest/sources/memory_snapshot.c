// SPDX-License-Identifier: Apache-2.0
// The source `snapshot`: what torch.cuda.memory._dump_snapshot() writes. Its history becomes
// the same [memory] events that torch.profiler writes, with totals; what was there before the
// history began comes first.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/index/hash_index.h"
#include "ingest/event_draft.h"
#include "ingest/source.h"
#include "ingest/sources/pickle.h"

enum { MOST_FRAMES = 128, MOST_DEVICES = 4096, CUDA = 1 };
#define MOST_BLOCKS ((size_t)1 << 28)

// Something at an address: while the history runs, what lives there.
struct place {
    uint64_t address;
    int64_t bytes;
    uint32_t frames; // value in the pickle
    bool is_live;    // taken in the history, and not given back
};

struct places {
    struct place *rows;
    size_t count, room;
    struct hash_index index;
};

// Blocks from before the history.
struct older {
    struct place *rows;
    size_t count, room;
    int64_t bytes;
};

struct snapshot {
    struct pickle pickle;
    struct event_draft draft;
    uint32_t *stacks; // of lists of frames, by value: their text's string id + 1
    struct buffer text;
    uint32_t segments, traces;       // values
    struct store_site memory, other; // names follow
};

struct device {
    struct snapshot *snapshot;
    int64_t number;
    uint32_t track;
    uint32_t history; // a list of entries, or 0
    struct places places;
    struct older older;
    int64_t allocated, reserved; // now, while events are made
    int64_t last_ns;
};

// What an entry of the history does, by its action: times its size.
static const struct action {
    const char *name;
    int allocated, reserved;
} actions[] = {
    {"alloc", 1, 0},          {"free_requested", -1, 0}, {"free_completed", -1, 0},
    {"segment_alloc", 0, 1},  {"segment_map", 0, 1},     {"segment_free", 0, -1},
    {"segment_unmap", 0, -1}, {"snapshot", 0, 0},        {"oom", 0, 0},
};

static unsigned probe(struct slice head)
{
    static const char words[][16] = {"segments", "device_traces", "segment_type"};
    if (head.count < 4)
        return 0;
    const bool is_pickle = head.bytes[0] == 0x80 && head.bytes[1] >= 2 && head.bytes[1] <= 5;
    if (!is_pickle && (!memchr("c(]}", head.bytes[0], 4) || !memchr(head.bytes, '.', head.count)))
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (memmem(head.bytes, head.count, words[i], strlen(words[i])))
            return is_pickle ? 90 : 60;
    // any other pickle is refused by name
    return is_pickle ? 40 : head.bytes[0] == 'c' && memchr(head.bytes, '\n', head.count) ? 3 : 0;
}

// --- texts --------------------------------------------------------------------------

static const struct pickle_value *at(const struct snapshot *snapshot, uint32_t number)
{
    return pickle_get(&snapshot->pickle, number);
}

static int append_frame(struct snapshot *snapshot, uint32_t frame)
{
    const struct slice file = pickle_member_text(&snapshot->pickle, frame, "filename");
    const struct slice name = pickle_member_text(&snapshot->pickle, frame, "name");
    const int64_t line = pickle_member_int(&snapshot->pickle, frame, "line", 0);
    return buffer_printf(&snapshot->text, "%s%.*s(%" PRId64 "): %.*s",
                         snapshot->text.used ? ";" : "", (int)(file.count & 0xffff),
                         (const char *)file.bytes, line, (int)(name.count & 0xffff),
                         (const char *)name.bytes);
}

// The frames as torch.profiler writes a call stack, innermost first: a string id, 0 for none.
static uint32_t stack_of(struct snapshot *snapshot, uint32_t frames)
{
    const struct pickle_value *list = at(snapshot, frames);
    if (!frames || list->kind != PICKLE_LIST || !list->count)
        return 0;
    if (snapshot->stacks[frames])
        return snapshot->stacks[frames] - 1;
    int status = 0;
    snapshot->text.used = 0;
    for (uint32_t i = 0; i < list->count && i < MOST_FRAMES && !status; i++)
        status = append_frame(snapshot, list->items[i]);
    const struct slice text = {snapshot->text.bytes, snapshot->text.used};
    const uint32_t string = status ? 0 : event_draft_string(&snapshot->draft, text);
    fail_clear();
    snapshot->stacks[frames] = string + 1;
    return string;
}

// --- what lives where ---------------------------------------------------------------

static int find_place(struct places *places, uint64_t address, struct place **ret_place)
{
    const uint32_t hash = (uint32_t)hash_mix(0, address);
    int status = hash_index_reserve(&places->index, 64);
    if (status)
        return status;
    size_t at = hash_index_first(&places->index, hash);
    for (; places->index.places[at].row; at = hash_index_next(&places->index, at)) {
        *ret_place = &places->rows[places->index.places[at].row - 1];
        if ((*ret_place)->address == address)
            return 0;
    }
    status = ARRAY_RESERVE(places->rows, places->room, places->count + 1, MOST_BLOCKS);
    if (status)
        return status;
    hash_index_put(&places->index, at, hash, (uint32_t)places->count);
    *ret_place = &places->rows[places->count++];
    **ret_place = (struct place){.address = address};
    return 0;
}

static int note_older(struct device *device, uint64_t address, int64_t bytes, uint32_t frames)
{
    struct older *older = &device->older;
    int status = ARRAY_RESERVE(older->rows, older->room, older->count + 1, MOST_BLOCKS);
    if (!status && __builtin_add_overflow(older->bytes, bytes, &older->bytes))
        status = fail(GAIT_ERR_FORMAT, "its blocks have more bytes than 64 bits hold");
    if (!status)
        older->rows[older->count++] = (struct place){address, bytes, frames, true};
    return status;
}

struct entry {
    const struct action *action; // NULL: not known
    uint64_t address;
    int64_t bytes, time_ns;
    uint32_t value, frames;
};

static struct entry entry_of(const struct snapshot *snapshot, uint32_t value)
{
    const struct pickle *pickle = &snapshot->pickle;
    const struct slice name = pickle_member_text(pickle, value, "action");
    struct entry entry = {.value = value};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (slice_is(name, actions[i].name))
            entry.action = &actions[i];
    entry.address = (uint64_t)pickle_member_int(pickle, value, "addr", 0);
    entry.bytes = pickle_member_int(pickle, value, "size", 0);
    entry.bytes = entry.bytes < 0 ? 0 : entry.bytes;
    entry.frames = pickle_member(pickle, value, "frames");
    if (__builtin_mul_overflow(pickle_member_int(pickle, value, "time_us", 0), 1000,
                               &entry.time_ns) ||
        entry.time_ns < 0)
        entry.time_ns = 0;
    return entry;
}

// Whether the entry gives back what is allocated: a free is asked for first and completed
// later, and counts once.
static int follow(struct places *places, const struct entry *entry, bool *ret_counts,
                  bool *ret_is_older)
{
    struct place *place;
    *ret_counts = *ret_is_older = false;
    if (!entry->action || !entry->action->allocated)
        return 0;
    const int status = find_place(places, entry->address, &place);
    if (status)
        return status;
    const bool is_alloc = entry->action->allocated > 0;
    *ret_counts = is_alloc || place->is_live || !strcmp(entry->action->name, "free_requested");
    *ret_is_older = *ret_counts && !is_alloc && !place->is_live;
    if (!*ret_counts)
        return 0;
    place->is_live = is_alloc;
    place->bytes = entry->bytes;
    return 0;
}

// --- before the history -------------------------------------------------------------

// Blocks that the history gives back without having taken them.
static int look_at_history(struct device *device, int64_t *ret_reserved)
{
    const struct snapshot *snapshot = device->snapshot;
    const struct pickle_value *history = at(snapshot, device->history);
    bool counts, is_older;
    int status = 0;
    *ret_reserved = 0;
    for (uint32_t i = 0; history->kind == PICKLE_LIST && i < history->count && !status; i++) {
        const struct entry entry = entry_of(snapshot, history->items[i]);
        status = follow(&device->places, &entry, &counts, &is_older);
        if (!status && is_older)
            status = note_older(device, entry.address, entry.bytes, 0);
        if (entry.action && __builtin_add_overflow(
                                *ret_reserved, entry.action->reserved * entry.bytes, ret_reserved))
            status = fail(GAIT_ERR_FORMAT, "its segments have more bytes than 64 bits hold");
    }
    return status;
}

// The frames of a block, which older versions of torch keep in its history.
static uint32_t frames_of(const struct pickle *pickle, uint32_t block)
{
    const uint32_t frames = pickle_member(pickle, block, "frames");
    const struct pickle_value *history =
        pickle_get(pickle, pickle_member(pickle, block, "history"));
    if (frames || history->kind != PICKLE_LIST || !history->count)
        return frames;
    return pickle_member(pickle, history->items[0], "frames");
}

// Blocks that are there at the end and were not taken in the history.
static int look_at_segment(struct device *device, uint32_t segment)
{
    const struct pickle *pickle = &device->snapshot->pickle;
    const struct pickle_value *blocks =
        pickle_get(pickle, pickle_member(pickle, segment, "blocks"));
    uint64_t address = (uint64_t)pickle_member_int(pickle, segment, "address", 0);
    int status = 0;
    for (uint32_t i = 0; blocks->kind == PICKLE_LIST && i < blocks->count && !status; i++) {
        const uint32_t block = blocks->items[i];
        const struct slice state = pickle_member_text(pickle, block, "state");
        const int64_t bytes = pickle_member_int(pickle, block, "size", 0);
        struct place *place;
        address = (uint64_t)pickle_member_int(pickle, block, "address", (int64_t)address);
        if (state.count == 16 && !memcmp(state.bytes, "active_allocated", 16) && bytes > 0) {
            status = find_place(&device->places, address, &place);
            if (!status && !place->is_live)
                status = note_older(device, address, bytes, frames_of(pickle, block));
        }
        address += (uint64_t)bytes;
    }
    return status;
}

static int look_back(struct device *device)
{
    const struct pickle *pickle = &device->snapshot->pickle;
    const struct pickle_value *segments = at(device->snapshot, device->snapshot->segments);
    int64_t changed, reserved = 0;
    int status = look_at_history(device, &changed);
    for (uint32_t i = 0; segments->kind == PICKLE_LIST && i < segments->count && !status; i++) {
        const uint32_t segment = segments->items[i];
        if (pickle_member_int(pickle, segment, "device", 0) != device->number)
            continue;
        status = look_at_segment(device, segment);
        if (__builtin_add_overflow(reserved, pickle_member_int(pickle, segment, "total_size", 0),
                                   &reserved))
            status = fail(GAIT_ERR_FORMAT, "its segments have more bytes than 64 bits hold");
    }
    if (!status && __builtin_sub_overflow(reserved, changed, &device->reserved))
        device->reserved = 0;
    device->reserved = device->reserved < 0 ? 0 : device->reserved;
    return status;
}

// --- events -------------------------------------------------------------------------

// Entries of one microsecond keep their order: each takes the next nanosecond.
static int put(struct device *device, int64_t time_ns, const struct store_site *site,
               const struct entry *entry)
{
    struct snapshot *snapshot = device->snapshot;
    struct event_draft *draft = &snapshot->draft;
    if (time_ns <= device->last_ns && device->last_ns < INT64_MAX)
        time_ns = device->last_ns + 1;
    device->last_ns = time_ns;
    event_draft_begin(draft, TABLE_MARK, device->track, site);
    draft->row.start = time_ns;
    event_draft_int(draft, "Device Type", CUDA);
    event_draft_int(draft, "Device Id", device->number);
    event_draft_int(draft, "Addr", (int64_t)entry->address);
    event_draft_int(draft, "Bytes", entry->bytes);
    event_draft_int(draft, "Total Allocated", device->allocated);
    event_draft_int(draft, "Total Reserved", device->reserved);
    const uint32_t stack = stack_of(snapshot, entry->frames);
    if (stack)
        event_draft_text(draft, "Call stack", stack);
    if (!entry->value)
        event_draft_int(draft, "Before", 1);
    const int64_t free_bytes =
        entry->value ? pickle_member_int(&snapshot->pickle, entry->value, "device_free", -1) : -1;
    if (free_bytes >= 0)
        event_draft_int(draft, "Device Free", free_bytes);
    return event_draft_put(draft);
}

static int put_older(struct device *device, int64_t begin_ns)
{
    int status = 0;
    for (size_t i = 0; i < device->older.count && !status; i++) {
        const struct place *place = &device->older.rows[i];
        const struct entry entry = {
            .address = place->address, .bytes = place->bytes, .frames = place->frames};
        device->allocated += place->bytes;
        status = put(device, begin_ns, &device->snapshot->memory, &entry);
    }
    return status;
}

static int put_entry(struct device *device, uint32_t value)
{
    struct snapshot *snapshot = device->snapshot;
    struct entry entry = entry_of(snapshot, value);
    struct store_site site = snapshot->other;
    bool counts, is_older;
    int status = follow(&device->places, &entry, &counts, &is_older);
    if (status || !entry.action || (entry.action->allocated && !counts))
        return status;
    if (entry.action->allocated) {
        site = snapshot->memory;
        entry.bytes *= entry.action->allocated;
        if (__builtin_add_overflow(device->allocated, entry.bytes, &device->allocated))
            return fail(GAIT_ERR_FORMAT, "its blocks have more bytes than 64 bits hold");
    } else {
        site.name = event_draft_string(&snapshot->draft, slice_of(entry.action->name));
    }
    if (__builtin_add_overflow(device->reserved, entry.action->reserved * entry.bytes,
                               &device->reserved))
        return fail(GAIT_ERR_FORMAT, "its segments have more bytes than 64 bits hold");
    return put(device, entry.time_ns, &site, &entry);
}

static int put_history(struct device *device)
{
    const struct pickle_value *history = at(device->snapshot, device->history);
    const bool has_any = history->kind == PICKLE_LIST && history->count;
    const int64_t begin_ns = has_any ? entry_of(device->snapshot, history->items[0]).time_ns : 0;
    const int64_t ahead_ns = (int64_t)device->older.count;
    int status = put_older(device, begin_ns > ahead_ns ? begin_ns - ahead_ns : 0);
    for (size_t i = 0; i < device->places.count; i++)
        device->places.rows[i].is_live = false;
    for (size_t i = 0; i < device->older.count && !status; i++) {
        struct place *place;
        status = find_place(&device->places, device->older.rows[i].address, &place);
        if (!status)
            place->is_live = true;
    }
    for (uint32_t i = 0; has_any && i < history->count && !status; i++)
        status = put_entry(device, history->items[i]);
    return status;
}

static int read_device(struct snapshot *snapshot, int64_t number, uint32_t history)
{
    char key[32], name[64];
    struct device device = {
        .snapshot = snapshot, .number = number, .history = history, .last_ns = -1};
    snprintf(key, sizeof key, "cuda:%" PRId64, number);
    snprintf(name, sizeof name, "memory of cuda:%" PRId64, number);
    int status = look_back(&device);
    const struct pickle_value *entries = at(snapshot, history);
    const bool is_empty = !device.older.count && !device.reserved &&
                          (entries->kind != PICKLE_LIST || !entries->count);
    const struct draft_track track = {.process = "0",
                                      .key = key,
                                      .kind = GAIT_TRACK_THREAD,
                                      .name = event_draft_string(&snapshot->draft, slice_of(name))};
    if (!status && !is_empty)
        status = event_draft_track(&snapshot->draft, &track, &device.track);
    if (!status && !is_empty)
        status = put_history(&device);
    hash_index_finish(&device.places.index);
    free(device.places.rows);
    free(device.older.rows);
    return status;
}

// --- the whole ----------------------------------------------------------------------

static int64_t most_devices(const struct snapshot *snapshot)
{
    const struct pickle_value *traces = at(snapshot, snapshot->traces);
    const struct pickle_value *segments = at(snapshot, snapshot->segments);
    int64_t most = traces->kind == PICKLE_LIST ? traces->count : 0;
    for (uint32_t i = 0; segments->kind == PICKLE_LIST && i < segments->count; i++) {
        const int64_t device =
            pickle_member_int(&snapshot->pickle, segments->items[i], "device", 0);
        most = device >= most ? device + 1 : most;
    }
    return most < MOST_DEVICES ? most : MOST_DEVICES;
}

static int refuse(const struct pickle *pickle)
{
    if (pickle->calls)
        return fail(GAIT_ERR_FORMAT,
                    "it is a pickle that would call '%.*s' when loaded, which gait does not do, "
                    "and no memory snapshot: make one with torch.cuda.memory._dump_snapshot()",
                    (int)(pickle->first.count & 0xff), (const char *)pickle->first.bytes);
    return fail(GAIT_ERR_FORMAT, "it is a pickle, but no memory snapshot: make one with "
                                 "torch.cuda.memory._dump_snapshot()");
}

static bool is_of_dicts(const struct pickle *pickle, const struct pickle_value *list,
                        const char *key)
{
    return list->kind == PICKLE_LIST && list->count && pickle_member(pickle, list->items[0], key);
}

static int read_devices(struct snapshot *snapshot, uint32_t root)
{
    const struct pickle *pickle = &snapshot->pickle;
    snapshot->segments = pickle_member(pickle, root, "segments");
    snapshot->traces = pickle_member(pickle, root, "device_traces");
    if (is_of_dicts(pickle, pickle_get(pickle, root), "blocks")) // torch.cuda.memory_snapshot()
        snapshot->segments = root;
    if (!snapshot->segments && !snapshot->traces)
        return refuse(pickle);
    snapshot->stacks = calloc(pickle->count + 1, sizeof *snapshot->stacks);
    if (!snapshot->stacks)
        return fail(GAIT_ERR_MEMORY, "no memory for the stacks of a snapshot");
    const struct pickle_value *traces = at(snapshot, snapshot->traces);
    const int64_t devices = most_devices(snapshot);
    int status = 0;
    for (int64_t i = 0; i < devices && !status; i++) {
        const bool has = traces->kind == PICKLE_LIST && i < traces->count;
        status = read_device(snapshot, i, has ? traces->items[i] : 0);
    }
    if (!status && !snapshot->draft.store->events)
        status = fail(GAIT_ERR_FORMAT, "it is a memory snapshot in which nothing is allocated");
    return status;
}

static int read_snapshot(struct intake *intake, struct event_store *store,
                         struct source_facts *ret_facts)
{
    struct snapshot snapshot = {.segments = 0};
    uint32_t root;
    buffer_init(&snapshot.text, (size_t)1 << 24);
    int status = event_draft_init(&snapshot.draft, store);
    if (!status)
        status = pickle_read(&snapshot.pickle, intake, &root);
    snapshot.memory = (struct store_site){event_store_string(store, slice_of("cpu_instant_event")),
                                          event_store_string(store, slice_of("[memory]"))};
    snapshot.other.category = event_store_string(store, slice_of("memory_segment"));
    if (!status)
        status = read_devices(&snapshot, root);
    if (!status)
        *ret_facts = (struct source_facts){.rank = source_rank_of(intake->path),
                                           .is_one_process = true,
                                           .main_process = store->tracks[0].process};
    pickle_finish(&snapshot.pickle);
    buffer_finish(&snapshot.text);
    free(snapshot.stacks);
    return status;
}

const struct source source_snapshot = {.name = "snapshot", .probe = probe, .read = read_snapshot};
