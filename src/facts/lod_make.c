// SPDX-License-Identifier: Apache-2.0
#include "facts/lod_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "facts/facts_file.h"
#include "facts/lod_lanes.h"
#include "facts/lod_store.h"
#include "facts/lod_sums.h"
#include "load/order/event_feed.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

enum { BINS_OF_ALL = 6, MOST_GROUPS = 1 << 24, MOST_REST = 64 };

struct lod_making {
    const struct gait_trace *trace;
    struct lod_wish wish;
    int64_t last_ns; // the end of the recording, and so of what never ended
    struct lod_lanes lanes;
    struct lod_sums sums;
    struct lod_store single, *stores; // of collectives; of each level
    struct event_feed counters;
    uint32_t shard;
    bool is_begun; // the counters are open
};

// --- which levels ----------------------------------------------------------------------

struct extent {
    int64_t start_ns, end_ns;
    uint64_t events;
};

struct busy_track { // ns: from the first to the last of each of its frames
    uint64_t rows, ns;
};

static void add_frame(struct busy_track *busy, const struct track *track,
                      const struct frame_entry *entry)
{
    const int64_t first_ns = clock_map_ns(track->map, entry->first),
                  last_ns = clock_map_ns(track->map, entry->last);
    busy->rows += entry->rows;
    busy->ns += last_ns > first_ns ? (uint64_t)last_ns - (uint64_t)first_ns : 0;
}

static void add_shard(const struct gait_trace *trace, uint32_t number, struct extent *all,
                      struct busy_track *tracks)
{
    const struct run_shard *shard = trace->run.shards[number];
    const struct gait_shard_info *info = &shard->info;
    for (size_t i = 0; i < shard->shard.list.count; i++) {
        const struct frame_entry *entry = &shard->shard.list.entries[i];
        const uint32_t track = id_map_get(&shard->dictionary.tracks, entry->track);
        const bool counts = entry->table == TABLE_SPAN || entry->table == TABLE_COUNTER ||
                            entry->table == TABLE_COUNTER_REAL;
        if (counts && track)
            add_frame(&tracks[track - 1], &trace->run.tracks.tracks[track - 1], entry);
    }
    if (!info->events)
        return;
    if (!all->events || info->start_ns < all->start_ns)
        all->start_ns = info->start_ns;
    if (!all->events || info->end_ns > all->end_ns)
        all->end_ns = info->end_ns;
    all->events += info->events;
}

static unsigned level_of(uint64_t ns)
{
    unsigned level = LOD_FIRST;
    while (level < LOD_LAST && ns >> level > 1)
        level += LOD_STEP;
    return level;
}

// From bins in which the busiest track has about as many spans as a row must have, while it was
// recorded, to those of which 64 are all of the time. Where spans are denser than that a row has
// more of them; on levels below, of each of 36 million spans a row was made and left out. So the
// time that a track rests counts up to three levels.
static void choose_levels(struct lod_making *making, const struct extent *all,
                          const struct busy_track *tracks)
{
    const uint64_t ns = (uint64_t)all->end_ns - (uint64_t)all->start_ns;
    struct busy_track most = {.rows = 1, .ns = ns};
    for (size_t i = 0; i < making->trace->run.tracks.count; i++)
        most = tracks[i].rows > most.rows ? tracks[i] : most;
    const uint64_t least_ns = ns / MOST_REST, busy_ns = most.ns > ns         ? ns
                                                        : most.ns < least_ns ? least_ns
                                                                             : most.ns;
    const unsigned wanted = making->wish.lowest, highest = level_of(ns >> BINS_OF_ALL),
                   lowest =
                       wanted ? wanted : level_of(busy_ns / most.rows * making->wish.row_spans);
    making->last_ns = all->end_ns;
    making->sums.lowest = lowest;
    making->sums.levels = highest > lowest ? (highest - lowest) / LOD_STEP + 1 : 1;
}

static int find_levels(struct lod_making *making, uint32_t shard)
{
    const struct run *run = &making->trace->run;
    struct busy_track *tracks = calloc(run->tracks.count + 1, sizeof *tracks);
    struct extent all = {.events = 0};
    if (!tracks)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu tracks", run->tracks.count);
    add_shard(making->trace, shard, &all, tracks);
    for (uint32_t i = shard_owned_first(run, shard); i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        add_shard(making->trace, i, &all, tracks);
    choose_levels(making, &all, tracks);
    free(tracks);
    return GAIT_OK;
}

// --- rows ------------------------------------------------------------------------------

static uint64_t units_up(uint64_t ns, unsigned bits)
{
    return (ns >> bits) + ((ns & ((UINT64_C(1) << bits) - 1)) != 0);
}

static int put_row(struct lod_store *store, uint32_t lane, const struct lod_cell *cell)
{
    const unsigned bits = lod_unit_bits(store->level);
    const int64_t start = cell->start_ns >> bits;
    const uint64_t before = (uint64_t)cell->start_ns - (uint64_t)start * (UINT64_C(1) << bits);
    const uint64_t ns = (uint64_t)cell->end_ns - (uint64_t)cell->start_ns;
    struct lod_row row = {.start = start,
                          .length = units_up(before + ns, bits),
                          .busy = units_up(cell->busy_ns, bits),
                          .longest = units_up(cell->longest_ns, bits),
                          .count = cell->count,
                          .site = cell->site,
                          .lane = lane,
                          .frame = cell->frame};
    if (cell->is_counter) {
        memcpy(&row.busy, &cell->least, sizeof row.busy);
        memcpy(&row.longest, &cell->most, sizeof row.longest);
        memcpy(&row.last, &cell->last, sizeof row.last);
    }
    return lod_store_add(store, &row);
}

static int emit(void *context, unsigned at, uint32_t lane, const struct lod_cell *cell)
{
    struct lod_making *making = context;
    return put_row(&making->stores[at], lane, cell);
}

static int add_cell(struct lod_making *making, uint32_t lane, const struct lod_cell *cell)
{
    int status = GAIT_OK;
    while (making->sums.lanes < making->lanes.count && !status)
        status = lod_sums_add_lane(&making->sums);
    lod_lanes_count(&making->lanes, lane, cell->start_ns, cell->end_ns);
    return status ? status : lod_sums_add(&making->sums, lane, cell);
}

// --- counters --------------------------------------------------------------------------

// What is no number has no place between others.
static int see_counter(void *context, const struct gait_event *event)
{
    struct lod_making *making = context;
    const double value = event->is_real ? event->real : (double)event->value;
    const struct lod_cell cell = {.start_ns = event->start_ns,
                                  .end_ns = event->start_ns,
                                  .count = 1,
                                  .least = value,
                                  .most = value,
                                  .last = value,
                                  .site = event->site,
                                  .frame = FACT_NO_FRAME,
                                  .is_counter = true};
    uint32_t lane;
    if (isnan(value))
        return GAIT_OK;
    const int status = lod_lanes_counter(&making->lanes, event->track, event->site, &lane);
    return status ? status : add_cell(making, lane, &cell);
}

// They are not opened before it is known that the file lacks them.
static int add_counters(struct lod_making *making, int64_t until_ns)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_COUNTER};
    struct gait_trace *trace = (struct gait_trace *)(uintptr_t)making->trace; // frames are read
    int status = GAIT_OK;
    if (!making->is_begun)
        status = event_feed_open(&making->counters, trace, making->shard, &query);
    making->is_begun = true;
    return status ? status : event_feed_until(&making->counters, until_ns, see_counter, making);
}

// --- the consumer ----------------------------------------------------------------------

static int init_stores(struct lod_making *making)
{
    making->stores = calloc(making->sums.levels, sizeof *making->stores);
    if (!making->stores)
        return fail(GAIT_ERR_MEMORY, "no memory for levels of detail");
    lod_store_init(&making->single, LOD_SINGLE, 0);
    for (unsigned i = 0; i < making->sums.levels; i++)
        lod_store_init(&making->stores[i], making->sums.lowest + i * LOD_STEP,
                       making->wish.row_spans);
    return lod_lanes_init(&making->lanes, making->trace->run.tracks.count);
}

static int begin(void *part, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct lod_making *making = part;
    making->trace = trace;
    making->shard = shard;
    if (answer)
        making->wish = *(const struct lod_wish *)answer;
    if (!making->wish.group_rows)
        making->wish.group_rows = LOD_GROUP_ROWS;
    if (!making->wish.row_spans)
        making->wish.row_spans = LOD_ROW_SPANS;
    making->sums.emit = emit;
    making->sums.context = making;
    const int status = find_levels(making, shard);
    return status ? status : init_stores(making);
}

static int add_row(struct lod_making *making, const struct fact_slice *slice, uint32_t track,
                   const struct fact_row *row)
{
    const bool is_open = row->end_ns == FACT_OPEN;
    const int64_t end_ns = !is_open                          ? row->end_ns
                           : making->last_ns > row->start_ns ? making->last_ns
                                                             : row->start_ns;
    const uint64_t ns = (uint64_t)end_ns - (uint64_t)row->start_ns;
    const struct lod_cell span = {.start_ns = row->start_ns,
                                  .end_ns = end_ns,
                                  .count = 1,
                                  .busy_ns = ns,
                                  .longest_ns = ns,
                                  .site = row->site,
                                  .frame = fact_frame(slice, row)};
    uint32_t lane;
    int status = lod_lanes_depth(&making->lanes, track, row->depth, &lane);
    if (!status && site_role(making->trace, row->site) == ROLE_COLLECTIVE)
        status = put_row(&making->single, lane, &span);
    return status ? status : add_cell(making, lane, &span);
}

// A level that has rows enough becomes a group. Of many lanes it must be more: each is looked at.
static int settle(struct lod_making *making, int64_t until_ns)
{
    const bool is_last = until_ns == INT64_MAX;
    const uint32_t lanes = (uint32_t)making->lanes.count;
    int status = GAIT_OK;
    for (unsigned at = 0; at < making->sums.levels && !status; at++) {
        struct lod_store *store = &making->stores[at];
        const bool is_full = store->count >= making->wish.group_rows && store->count >= lanes;
        if (!is_last && !is_full)
            continue;
        status = lod_sums_settle(&making->sums, until_ns, at);
        if (!status)
            status = lod_store_settle(store, until_ns, lanes);
    }
    if (!status && (is_last || making->single.count >= making->wish.group_rows))
        status = lod_store_settle(&making->single, until_ns, lanes);
    return status;
}

static int add_slice(void *part, const struct fact_slice *slice)
{
    struct lod_making *making = part;
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count && !status; i++)
        for (size_t k = 0; k < slice->tracks[i].count && !status; k++)
            status = add_row(making, slice, slice->tracks[i].track, &slice->tracks[i].rows[k]);
    if (!status)
        status = add_counters(making, slice->until_ns);
    return status || slice->until_ns == INT64_MAX ? status : settle(making, slice->until_ns);
}

static int end(void *part)
{
    const int status = add_counters(part, INT64_MAX);
    return status ? status : settle(part, INT64_MAX);
}

static void drop(void *part)
{
    struct lod_making *making = part;
    for (unsigned i = 0; making->stores && i < making->sums.levels; i++)
        lod_store_finish(&making->stores[i]);
    lod_store_finish(&making->single);
    lod_sums_finish(&making->sums);
    lod_lanes_finish(&making->lanes);
    event_feed_close(&making->counters);
    free(making->stores);
}

// --- the file --------------------------------------------------------------------------

static bool is_whole(const void *answer)
{
    (void)answer;
    return true;
}

static int save_groups(const struct lod_making *making, struct facts_file *file)
{
    struct lod_group *groups = NULL;
    size_t count = 0, capacity = 0;
    int status = GAIT_OK;
    for (unsigned at = 0; at <= making->sums.levels && !status; at++) {
        const struct lod_store *store = at ? &making->stores[at - 1] : &making->single;
        for (size_t i = 0; i < store->group_count && !status; i++)
            status = ARRAY_ADD(groups, count, capacity, MOST_GROUPS, &store->groups[i]);
    }
    if (!status)
        status = facts_file_put(file, &lod_group_list, groups, count);
    free(groups);
    return status;
}

// Coarse rows last, and what tells where all are behind them: who opens it reads the end.
static int save(const void *part, struct facts_file *file)
{
    const struct lod_making *making = part;
    int status = lod_store_save(&making->single, file);
    for (unsigned at = 0; at < making->sums.levels && !status; at++)
        status = lod_store_save(&making->stores[at], file);
    if (!status)
        status = facts_file_put(file, &lod_lane_list, making->lanes.rows, making->lanes.count);
    return status ? status : save_groups(making, file);
}

// Nobody wants it in memory: it is there, or is made.
static int load(void *part, struct facts_file *file)
{
    (void)part;
    return facts_file_has(file, &lod_group_list) && facts_file_has(file, &lod_lane_list);
}

const struct fact_consumer lod_consumer = {
    .name = "levels of detail",
    .part_bytes = sizeof(struct lod_making),
    .begin = begin,
    .slice = add_slice,
    .end = end,
    .drop = drop,
    .is_whole = is_whole,
    .save = save,
    .load = load,
};
