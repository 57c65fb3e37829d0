// SPDX-License-Identifier: Apache-2.0
// What was read of a foreign trace, on its way into shards: names, forms, tracks, and the
// rows of each track. Knows neither files nor formats. Used by one thread at a time.
#ifndef GAIT_INGEST_EVENT_STORE_H
#define GAIT_INGEST_EVENT_STORE_H

#include <gait/trace.h>

#include "format/schema.h"
#include "ingest/form_table.h"
#include "ingest/row_runs.h"

struct store_site {
    uint32_t category, name; // string ids
};

// Where events lie: a process, or something in it.
struct store_track {
    uint32_t process;   // string id of its number as text
    uint32_t key, name; // string ids; key 0: the process itself
    enum gait_track_kind kind;
    int64_t os_id;
    uint32_t parent;          // number of its process's or device's track + 1; 0: a process
    bool is_device, has_rows; // work of a device lies on it; anything does
    // Numbers + 1, 0: none. Whoever writes a track or a process out walks these, and not all
    // lanes or tracks of the store: 30,000 threads took 10 s of CPU that way.
    uint32_t first_lane, last_lane;
    uint32_t next, last; // track of its process; of a process the newest of them
};

// Rows of one track, one table and one category.
struct store_lane {
    uint32_t track, category;
    enum table_id table;
    uint32_t next, place; // lane of its track, its number + 1; place among them
    struct row_runs rows;
};

// What a process is called, and other facts as JSON text.
struct store_fact {
    uint32_t key;      // string id
    struct slice json; // in the store's arena
};

struct event_store {
    struct name_index strings, site_names;
    struct store_site *sites; // by number - 1
    size_t site_room;
    struct form_table forms;
    struct name_index track_names;
    struct store_track *tracks;
    size_t track_room, track_count;
    struct row_spill spill;
    struct store_lane *lanes;
    size_t lane_room, lane_count;
    struct hash_index lane_index;
    size_t last_lane;
    struct store_fact *facts;
    size_t fact_room, fact_count;
    struct name_index async_keys; // of asynchronous spans: site, process and id
    int64_t *async_open;          // by number - 1: begins of that key less its ends
    size_t async_room;
    struct name_index naming; // events that name things, as JSON texts
    uint32_t *naming_counts;  // how often each stands in the file, by number - 1; 0: no JSON
    size_t naming_room;
    size_t naming_bytes;
    int64_t first_ns, last_ns; // of all rows
    uint32_t unit_ns;          // 1, 10, 100 or 1000: all times are multiples of it
    uint64_t events;
};

void event_store_init(struct event_store *store);
void event_store_finish(struct event_store *store);

// A string's id; 0 for "" and where there is no memory.
uint32_t event_store_string(struct event_store *store, struct slice text);
GAIT_CHECK int event_store_site(struct event_store *store, const struct store_site *site,
                                uint32_t *ret_site);

// The track of a process with that key: found, or a new thread of that number.
GAIT_CHECK int event_store_track(struct event_store *store, uint32_t process, uint32_t key,
                                 uint32_t *ret_track);

struct store_place {
    uint32_t track, category;
    enum table_id table;
};
GAIT_CHECK int event_store_add(struct event_store *store, const struct store_place *place,
                               const struct row *row);

// Rows of a track, those of a device left out.
uint64_t event_store_host_rows(const struct event_store *store, uint32_t track);

// Ends of asynchronous spans that no begin has: readers leave them out.
uint64_t event_store_lone_ends(const struct event_store *store);

// Notes a fact about the trace; one of the same key is replaced, which is true then.
GAIT_CHECK int event_store_fact(struct event_store *store, struct slice key, struct slice json,
                                bool *ret_is_replaced);
// Keeps an event that names things as it stands: profilers write some 60,000 times over.
GAIT_CHECK int event_store_naming(struct event_store *store, struct slice json);
const struct store_fact *event_store_fact_of(const struct event_store *store, const char *key);

#endif
