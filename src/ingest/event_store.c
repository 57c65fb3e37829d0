// SPDX-License-Identifier: Apache-2.0
#include "ingest/event_store.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"

#define MOST_TRACKS ((size_t)1 << 20)
#define MOST_LANES ((size_t)1 << 22)
#define MOST_SITES ((size_t)16 << 20)
#define MOST_FACTS 4096
#define MOST_ASYNC ((size_t)1 << 20) // keys that are counted; a trace of more is read all the same
#define MOST_NAMING ((size_t)12 << 20) // they make one row, and a frame holds 16 MB
#define COARSEST_NS 1000

void event_store_init(struct event_store *store)
{
    *store = (struct event_store){
        .first_ns = INT64_MAX, .last_ns = INT64_MIN, .unit_ns = COARSEST_NS, .spill.fd = -1};
    name_index_init(&store->strings);
    name_index_init(&store->site_names);
    name_index_init(&store->track_names);
    name_index_init(&store->async_keys);
    form_table_init(&store->forms);
    name_index_init(&store->naming);
}

void event_store_finish(struct event_store *store)
{
    for (size_t i = 0; i < store->lane_count; i++)
        row_runs_finish(&store->lanes[i].rows);
    row_spill_finish(&store->spill);
    name_index_finish(&store->strings);
    name_index_finish(&store->site_names);
    name_index_finish(&store->track_names);
    name_index_finish(&store->async_keys);
    form_table_finish(&store->forms);
    hash_index_finish(&store->lane_index);
    name_index_finish(&store->naming);
    free(store->naming_counts);
    free(store->sites);
    free(store->tracks);
    free(store->lanes);
    free(store->facts);
    free(store->async_open);
}

uint32_t event_store_string(struct event_store *store, struct slice text)
{
    return text.count ? name_index_number(&store->strings, text) : 0;
}

int event_store_site(struct event_store *store, const struct store_site *site, uint32_t *ret_site)
{
    const struct slice bytes = {(const uint8_t *)site, sizeof *site};
    *ret_site = name_index_number(&store->site_names, bytes);
    if (!*ret_site)
        return fail(GAIT_ERR_MEMORY, "no memory for the names of events");
    const int status = ARRAY_RESERVE(store->sites, store->site_room, *ret_site, MOST_SITES);
    if (!status)
        store->sites[*ret_site - 1] = *site;
    return status;
}

static int64_t number_in(struct slice text)
{
    char digits[24];
    if (!text.count || text.count >= sizeof digits)
        return 0;
    memcpy(digits, text.bytes, text.count);
    digits[text.count] = '\0';
    char *end;
    const long long number = strtoll(digits, &end, 10);
    return *end ? 0 : number;
}

int event_store_track(struct event_store *store, uint32_t process, uint32_t key,
                      uint32_t *ret_track)
{
    uint32_t parent = 0;
    if (key) {
        const int failed = event_store_track(store, process, 0, &parent);
        if (failed)
            return failed;
        parent++;
    }
    const uint32_t who[] = {process, key};
    const uint32_t number =
        name_index_number(&store->track_names, (struct slice){(const uint8_t *)who, sizeof who});
    if (!number)
        return fail(GAIT_ERR_MEMORY, "no memory for the threads of a trace");
    *ret_track = number - 1;
    if (number <= store->track_count)
        return 0;
    const int status = ARRAY_RESERVE(store->tracks, store->track_room, number, MOST_TRACKS);
    if (status)
        return status;
    const struct slice of = name_index_get(&store->strings, key ? key : process);
    store->tracks[store->track_count++] =
        (struct store_track){.process = process,
                             .key = key,
                             .kind = key ? GAIT_TRACK_THREAD : GAIT_TRACK_PROCESS,
                             .parent = parent,
                             .os_id = number_in(of)};
    struct store_track *head = &store->tracks[parent ? parent - 1 : number - 1];
    if (head->last)
        store->tracks[head->last - 1].next = number;
    head->last = number;
    return 0;
}

static int find_lane(struct event_store *store, const struct store_place *place, size_t *ret_lane)
{
    const uint32_t key[] = {place->track, place->category, place->table};
    const uint32_t hash = (uint32_t)XXH3_64bits(key, sizeof key);
    int status = hash_index_reserve(&store->lane_index, 64);
    if (status)
        return status;
    size_t at = hash_index_first(&store->lane_index, hash);
    for (; store->lane_index.places[at].row; at = hash_index_next(&store->lane_index, at)) {
        *ret_lane = store->lane_index.places[at].row - 1;
        const struct store_lane *lane = &store->lanes[*ret_lane];
        if (lane->track == place->track && lane->category == place->category &&
            lane->table == place->table)
            return 0;
    }
    status = ARRAY_RESERVE(store->lanes, store->lane_room, store->lane_count + 1, MOST_LANES);
    if (status)
        return status;
    *ret_lane = store->lane_count;
    hash_index_put(&store->lane_index, at, hash, (uint32_t)store->lane_count);
    struct store_lane *lane = &store->lanes[store->lane_count++];
    *lane = (struct store_lane){
        .track = place->track, .category = place->category, .table = place->table};
    row_runs_init(&lane->rows, &store->spill);
    struct store_track *track = &store->tracks[place->track];
    track->has_rows = true;
    if (track->last_lane)
        store->lanes[track->last_lane - 1].next = (uint32_t)store->lane_count;
    else
        track->first_lane = (uint32_t)store->lane_count;
    lane->place = track->last_lane ? store->lanes[track->last_lane - 1].place + 1 : 0;
    track->last_lane = (uint32_t)store->lane_count;
    for (uint32_t up = track->parent; up; up = store->tracks[up - 1].parent)
        store->tracks[up - 1].has_rows = true;
    return 0;
}

static void note_times(struct event_store *store, const struct row *row)
{
    const uint64_t duration = row->duration == ROW_UNFINISHED ? 0 : row->duration;
    int64_t end;
    if (__builtin_add_overflow(row->start, duration, &end))
        end = INT64_MAX;
    if (row->start < store->first_ns)
        store->first_ns = row->start;
    if (end > store->last_ns)
        store->last_ns = end;
    while (store->unit_ns > 1 &&
           (row->start % (int64_t)store->unit_ns || duration % store->unit_ns))
        store->unit_ns /= 10;
}

static int note_async(struct event_store *store, uint32_t track, const struct row *row)
{
    const uint32_t key[] = {row->site, store->tracks[track].process, (uint32_t)row->id,
                            (uint32_t)(row->id >> 32)};
    const size_t before = store->async_keys.texts.count;
    if (before >= MOST_ASYNC)
        return 0;
    const uint32_t number =
        name_index_number(&store->async_keys, (struct slice){(const uint8_t *)key, sizeof key});
    if (!number)
        return fail(GAIT_ERR_MEMORY, "no memory for the asynchronous spans of a trace");
    const int status = ARRAY_RESERVE(store->async_open, store->async_room, number, MOST_ASYNC);
    if (status)
        return status;
    if (number > before)
        store->async_open[number - 1] = 0;
    store->async_open[number - 1] += row->phase ? -1 : 1;
    return 0;
}

uint64_t event_store_host_rows(const struct event_store *store, uint32_t track)
{
    uint64_t rows = 0;
    if (!store->tracks[track].is_device)
        for (uint32_t i = store->tracks[track].first_lane; i; i = store->lanes[i - 1].next)
            rows += store->lanes[i - 1].rows.count;
    return rows;
}

uint64_t event_store_lone_ends(const struct event_store *store)
{
    uint64_t ends = 0;
    for (size_t i = 0; i < store->async_keys.texts.count; i++)
        if (store->async_open[i] < 0)
            ends += (uint64_t)-store->async_open[i];
    return ends;
}

int event_store_add(struct event_store *store, const struct store_place *place,
                    const struct row *row)
{
    size_t at = store->last_lane;
    const struct store_lane *last = at < store->lane_count ? &store->lanes[at] : NULL;
    if (!last || last->track != place->track || last->category != place->category ||
        last->table != place->table) {
        const int status = find_lane(store, place, &at);
        if (status)
            return status;
        store->last_lane = at;
    }
    note_times(store, row);
    if (place->table == TABLE_ASYNC) {
        const int status = note_async(store, place->track, row);
        if (status)
            return status;
    }
    return row_runs_add(&store->lanes[at].rows, row);
}

int event_store_fact(struct event_store *store, struct slice key, struct slice json,
                     bool *ret_is_replaced)
{
    const uint32_t string = event_store_string(store, key);
    char *copy = arena_text(&store->strings.arena, json.bytes, json.count);
    *ret_is_replaced = false;
    if (!copy || (key.count && !string))
        return fail(GAIT_ERR_MEMORY, "no memory for what a trace says of itself");
    const struct store_fact fact = {string, {(const uint8_t *)copy, json.count}};
    for (size_t i = 0; i < store->fact_count; i++) {
        if (store->facts[i].key != string)
            continue;
        store->facts[i] = fact;
        *ret_is_replaced = true;
        return 0;
    }
    return ARRAY_ADD(store->facts, store->fact_count, store->fact_room, MOST_FACTS, &fact);
}

int event_store_naming(struct event_store *store, struct slice json)
{
    const size_t before = store->naming.texts.count;
    const uint32_t number = json.count < MOST_NAMING - store->naming_bytes
                                ? name_index_number(&store->naming, json)
                                : 0;
    if (!number)
        return fail(GAIT_ERR_MEMORY, "events that name things take more than %zu bytes",
                    MOST_NAMING);
    const int status = ARRAY_RESERVE(store->naming_counts, store->naming_room, number, MOST_NAMING);
    if (status)
        return status;
    uint32_t *times = &store->naming_counts[number - 1];
    if (number > before) {
        *times = json_is_valid(json);
        store->naming_bytes += json.count + 1;
    } else {
        *times += *times && *times < UINT32_MAX;
    }
    return *times ? 0 : fail(GAIT_ERR_FORMAT, "an event that names things is no JSON");
}

const struct store_fact *event_store_fact_of(const struct event_store *store, const char *key)
{
    for (size_t i = 0; i < store->fact_count; i++) {
        const struct slice name = name_index_get(&store->strings, store->facts[i].key);
        if (slice_is(name, key))
            return &store->facts[i];
    }
    return NULL;
}
