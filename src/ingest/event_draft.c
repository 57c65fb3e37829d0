// SPDX-License-Identifier: Apache-2.0
#include "ingest/event_draft.h"

#include "base/fail.h"
#include "base/utf8.h"

// Arguments whose values are numbers of something, so that they stand in columns from the
// start.
static const struct {
    const char *key;
    enum form_place place;
} places[] = {
    {"correlation", FORM_LINK},
    {"External id", FORM_OP},
    {"external id", FORM_OP},
    {"bytes", FORM_BYTES},
    {"Bytes", FORM_BYTES},
    {"Ev Idx", FORM_ANYWHERE},
    {"Record function id", FORM_ANYWHERE},
    {"Sequence number", FORM_ANYWHERE},
    {"Python id", FORM_ANYWHERE},
    {"Python parent id", FORM_ANYWHERE},
    {"Addr", FORM_ANYWHERE},
    {"Total Allocated", FORM_ANYWHERE},
    {"Total Reserved", FORM_ANYWHERE},
    {"Profiler Event Index", FORM_ANYWHERE},
};

int event_draft_init(struct event_draft *draft, struct event_store *store)
{
    int status = 0;
    if (draft)
        *draft = (struct event_draft){.store = store};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !status; i++)
        status = form_table_place(&store->forms, event_store_string(store, slice_of(places[i].key)),
                                  places[i].place);
    return status;
}

void event_draft_begin(struct event_draft *draft, enum table_id table, uint32_t track,
                       const struct store_site *site)
{
    draft->row = (struct row){.start = 0};
    draft->place = (struct store_place){.track = track, .category = site->category, .table = table};
    draft->count = 0;
    draft->status = event_store_site(draft->store, site, &draft->row.site);
}

void event_draft_add(struct event_draft *draft, struct args_item item)
{
    for (size_t i = 0; i < draft->count; i++)
        if (draft->parts[i].item.key == item.key) { // the last one counts
            draft->parts[i].item = item;
            return;
        }
    if (!draft->status && draft->count < FORM_MOST_PARTS)
        draft->parts[draft->count++] = (struct form_part){.item = item};
}

uint32_t event_draft_string(struct event_draft *draft, struct slice text)
{
    struct buffer room;
    if (utf8_valid_prefix((const char *)text.bytes, text.count) == text.count)
        return event_store_string(draft->store, text);
    buffer_init(&room, UTF8_REPAIR_BOUND(text.count));
    uint32_t string = 0;
    if (!utf8_append_repaired(&room, (const char *)text.bytes, text.count))
        string = event_store_string(draft->store, (struct slice){room.bytes, room.used});
    buffer_finish(&room);
    return string;
}

void event_draft_int(struct event_draft *draft, const char *key, int64_t value)
{
    event_draft_add(draft, (struct args_item){.key = event_draft_string(draft, slice_of(key)),
                                              .kind = ARGS_INT,
                                              .integer = value});
}

void event_draft_real(struct event_draft *draft, const char *key, double value)
{
    event_draft_add(draft, (struct args_item){.key = event_draft_string(draft, slice_of(key)),
                                              .kind = ARGS_REAL,
                                              .real = value});
}

void event_draft_text(struct event_draft *draft, const char *key, uint32_t string)
{
    event_draft_add(draft, (struct args_item){.key = event_draft_string(draft, slice_of(key)),
                                              .kind = ARGS_STRING,
                                              .integer = string});
}

int event_draft_put(struct event_draft *draft)
{
    struct event_store *store = draft->store;
    int status = draft->status;
    if (!status)
        status = form_table_find(&store->forms, draft->parts, draft->count, &draft->row.form);
    if (!status)
        status = event_store_add(store, &draft->place, &draft->row);
    store->events += !status;
    return status;
}

int event_draft_track(struct event_draft *draft, const struct draft_track *wanted,
                      uint32_t *ret_track)
{
    struct event_store *store = draft->store;
    const uint32_t process = event_draft_string(draft, slice_of(wanted->process));
    const uint32_t key = wanted->key ? event_draft_string(draft, slice_of(wanted->key)) : 0;
    const uint32_t around =
        wanted->device ? event_draft_string(draft, slice_of(wanted->device)) : 0;
    uint32_t device;
    if (!process || (wanted->key && !key) || (wanted->device && !around))
        return fail(GAIT_ERR_MEMORY, "no memory for the threads of a trace");
    int status = around ? event_store_track(store, process, around, &device) : GAIT_OK;
    if (!status)
        status = event_store_track(store, process, key, ret_track);
    if (status)
        return status;
    struct store_track *track = &store->tracks[*ret_track];
    if (around) {
        store->tracks[device].kind = GAIT_TRACK_PROCESS;
        track->parent = device + 1;
    }
    if (key)
        track->kind = wanted->kind;
    track->is_device |= wanted->is_device;
    if (wanted->name)
        track->name = wanted->name;
    return 0;
}
