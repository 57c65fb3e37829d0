// SPDX-License-Identifier: Apache-2.0
// What the ids of one shard stand for: strings, sites, tracks, stacks, clocks;
// and what it says about itself: metadata and cost.
#ifndef GAIT_LOAD_DICTIONARY_H
#define GAIT_LOAD_DICTIONARY_H

#include "base/index/hash_index.h"
#include "base/intern.h"
#include "load/shard/clock_map.h"
#include "load/shard/id_map.h"
#include "load/shard/row_reader.h"
#include "load/shard/schema_map.h"
#include "load/shard/site_table.h"
#include "load/shard/track_table.h"

struct dictionary_clock {
    uint32_t id;
    struct clock_map map;
};

struct dictionary_meta {
    const char *key, *json;
};

// What the events of one form have in common (docs/FORMAT.md section 4).
struct dictionary_form {
    struct slice args, fields;
};

// Where the dictionaries of all shards put what they share.
struct dictionary_home {
    struct intern *texts;
    struct site_table *sites;
    struct track_table *tracks;
};

struct dictionary {
    struct dictionary_home home;
    uint32_t shard;     // number of the shard in its run
    size_t first_track; // of its tracks in home.tracks
    struct schema_map schema;
    struct id_map strings; // -> index in texts + 1
    struct id_map sites;   // -> number in the trace + 1
    struct id_map tracks;  // -> number in the trace + 1
    struct id_map stacks;  // -> site number of the leaf + 1
    struct id_map forms;   // -> index in form_list + 1
    struct dictionary_form *form_list;
    size_t form_count, form_capacity;
    const char **texts;
    size_t text_count, text_capacity;
    struct dictionary_clock *clocks;
    size_t clock_count, clock_capacity;
    struct dictionary_meta *meta; // in order of first appearance
    size_t meta_count, meta_capacity;
    struct hash_index meta_index;
    uint64_t taken_bytes;     // about: what the rows so far take in memory, pages of ids left out
    uint64_t overhead_cpu_ns; // gait's own, so far
    uint32_t lost_site;       // for ids whose row is lost: the anonymous site, or a named one
};

// Reads the dictionary frames of `shard`. Damaged ones are noted and passed
// over; fails only for want of memory.
GAIT_CHECK int dictionary_load(struct dictionary *dictionary, struct shard *shard,
                               struct row_reader *rows);
void dictionary_finish(struct dictionary *dictionary); // takes NULL and a zeroed struct

// "" for 0, "(lost)" for an id without a row.
const char *dictionary_text(const struct dictionary *dictionary, uint64_t string);

// Nothing for 0 and for an id without a row.
struct dictionary_form dictionary_form(const struct dictionary *dictionary, uint64_t form);

// JSON text, or NULL.
const char *dictionary_meta(const struct dictionary *dictionary, const char *key);

// The number of the track with that id; one is made up if no row describes it.
GAIT_CHECK int dictionary_track(struct dictionary *dictionary, uint32_t id, uint32_t *ret_number);

static inline uint32_t dictionary_site(const struct dictionary *dictionary, uint64_t site)
{
    uint32_t number = id_map_get(&dictionary->sites, site);

    if (number)
        return number - 1;
    return site ? dictionary->lost_site : 0;
}

#endif
