// SPDX-License-Identifier: Apache-2.0
// One event on its way into a store, for sources that are no JSON: where it lies, what it is
// called, and its arguments one by one.
#ifndef GAIT_INGEST_EVENT_DRAFT_H
#define GAIT_INGEST_EVENT_DRAFT_H

#include "ingest/event_store.h"

struct event_draft {
    struct event_store *store;
    struct store_place place;
    struct row row;
    struct form_part parts[FORM_MOST_PARTS];
    size_t count;
    int status; // of what was added since the begin; later calls do nothing then
};

// Names the arguments whose values stand in columns: once for each store.
GAIT_CHECK int event_draft_init(struct event_draft *draft, struct event_store *store);

// A new event of that table; its start, duration, id and phase are in `row`.
void event_draft_begin(struct event_draft *draft, enum table_id table, uint32_t track,
                       const struct store_site *site);
void event_draft_int(struct event_draft *draft, const char *key, int64_t value);
void event_draft_real(struct event_draft *draft, const char *key, double value);
void event_draft_text(struct event_draft *draft, const char *key, uint32_t string);

// The same of a key that is a string of the store already.
void event_draft_add(struct event_draft *draft, struct args_item item);
GAIT_CHECK int event_draft_put(struct event_draft *draft);

// A string of the store; what is no UTF-8 in it is repaired.
uint32_t event_draft_string(struct event_draft *draft, struct slice text);

// The track of a thread or stream by the names that a file has for it.
struct draft_track {
    const char *process, *key; // key NULL: the process itself
    const char *device;        // NULL, or the key of a track in the process that it lies in
    uint32_t name;             // string id, 0: none
    enum gait_track_kind kind;
    bool is_device;
};
GAIT_CHECK int event_draft_track(struct event_draft *draft, const struct draft_track *wanted,
                                 uint32_t *ret_track);

#endif
