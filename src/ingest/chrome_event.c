// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/fail.h"
#include "ingest/chrome_time.h"

enum { MOST_EXTRAS = 16 };

// The members of one event.
struct chrome_event {
    struct json_value fields[FIELD_COUNT];
    uint32_t has; // bit i: fields[i] was there
    struct {
        struct json_value key, value;
    } extras[MOST_EXTRAS];
    size_t extra_count;
    struct slice text; // all of it
};

// Categories of work on a device; their tracks are streams.
static const char *const device_categories[] = {
    "kernel",     "gpu_memcpy",          "gpu_memset",      "memcpy", "memset",
    "hip_kernel", "gpu_user_annotation", "mtia_ccp_events", "hpu_op", "collective_comm",
};

int chrome_reader_init(struct chrome_reader *reader, struct event_store *store,
                       struct repairs *repairs)
{
    *reader = (struct chrome_reader){.last_track = UINT32_MAX};
    pattern_table_init(&reader->patterns);
    pattern_walk_init(&reader->walk, &reader->patterns);
    return chrome_parts_init(&reader->parts, store, repairs);
}

void chrome_reader_finish(struct chrome_reader *reader)
{
    chrome_begins_finish(&reader->begins);
    chrome_parts_finish(&reader->parts);
    pattern_walk_finish(&reader->walk);
    pattern_table_finish(&reader->patterns);
}

static int field_of(const struct json_value *key)
{
    static const char *const names[] = {
#define X(identifier, name) name,
        CHROME_FIELDS(X)
#undef X
    };
    for (int i = 0; i < FIELD_COUNT; i++)
        if (json_is(key, names[i]))
            return i;
    return -1;
}

// 1, SCAN_CUT or SCAN_BROKEN.
static int scan_event(struct chrome_reader *reader, struct json_scan *scan,
                      struct chrome_event *event)
{
    const uint8_t *const begin = scan->at;
    struct json_value key, value;
    int got;
    memset(event->fields, 0, sizeof event->fields);
    event->has = 0;
    event->extra_count = 0;
    if (!json_scan_enter(scan, '{'))
        return SCAN_BROKEN;
    while ((got = json_scan_member(scan, &key, &value)) == 1) {
        const int field = field_of(&key);
        if (field >= 0) {
            reader->parts.repairs->counts[REPAIR_DUPLICATE] += event->has >> field & 1;
            event->fields[field] = value;
            event->has |= 1u << field;
        } else if (event->extra_count < MOST_EXTRAS) {
            event->extras[event->extra_count].key = key;
            event->extras[event->extra_count++].value = value;
        } else {
            return SCAN_BROKEN;
        }
    }
    event->text = (struct slice){begin, (size_t)(scan->at - begin)};
    return got ? got : 1;
}

static bool has(const struct chrome_event *event, enum chrome_field field)
{
    return event->has >> field & 1;
}

static char phase_of(const struct chrome_event *event)
{
    const struct json_value *ph = &event->fields[FIELD_PH];
    return has(event, FIELD_PH) && ph->type == SCAN_STRING && ph->text.count == 1
               ? (char)ph->text.bytes[0]
               : '\0';
}

// --- where it is ------------------------------------------------------------

static bool is_number_text(struct slice text)
{
    struct json_decimal decimal;
    return text.count && text.count < 19 && json_decimal_of(text, &decimal) && !decimal.places &&
           !(text.bytes[0] == '0' && text.count > 1);
}

// The id of a process or a thread, and its field where it is not a plain number or text.
static int number_place(struct chrome_parts *parts, const struct chrome_event *event,
                        enum chrome_field field, uint32_t *ret_id)
{
    const struct json_value *value = &event->fields[field];
    if (!has(event, field)) {
        *ret_id = event_store_string(parts->store, slice_of("none"));
        return chrome_parts_field(parts, field, NULL);
    }
    const bool is_odd = value->type == SCAN_STRING
                            ? !value->text.count || is_number_text(value->text)
                            : value->type != SCAN_NUMBER || !is_number_text(value->text);
    if (value->type == SCAN_STRING && is_number_text(value->text))
        parts->repairs->counts[REPAIR_TEXT_ID]++;
    *ret_id = value->type == SCAN_STRING ? chrome_parts_string(parts, value)
                                         : event_store_string(parts->store, value->text);
    if (!*ret_id)
        *ret_id = event_store_string(parts->store, slice_of("none"));
    return is_odd ? chrome_parts_field(parts, field, value) : 0;
}

// A plain number's text, or an empty one.
static struct slice plain_number(const struct chrome_event *event, enum chrome_field field)
{
    const struct json_value *value = &event->fields[field];
    if (!has(event, field) || value->type != SCAN_NUMBER || !is_number_text(value->text))
        return (struct slice){(const uint8_t *)"", 0};
    return value->text;
}

static bool is_last(const char *last, struct slice text)
{
    return text.count && strlen(last) == text.count && memcmp(last, text.bytes, text.count) == 0;
}

static void keep_last(char last[24], struct slice text)
{
    memcpy(last, text.bytes, text.count); // fewer than 19
    last[text.count] = '\0';
}

static int find_track(struct chrome_reader *reader, const struct chrome_event *event,
                      uint32_t *ret_track)
{
    struct chrome_parts *parts = &reader->parts;
    const struct slice pid = plain_number(event, FIELD_PID), tid = plain_number(event, FIELD_TID);
    uint32_t process = 0, thread = 0;
    if (is_last(reader->last_pid, pid) && is_last(reader->last_tid, tid)) {
        *ret_track = reader->last_track;
        return 0;
    }
    int status = number_place(parts, event, FIELD_PID, &process);
    if (!status)
        status = number_place(parts, event, FIELD_TID, &thread);
    if (!status)
        status = event_store_track(parts->store, process, thread, ret_track);
    if (status)
        return status;
    reader->last_track = *ret_track;
    keep_last(reader->last_pid, pid);
    keep_last(reader->last_tid, tid);
    return 0;
}

// --- what it is -------------------------------------------------------------

static int text_field(struct chrome_parts *parts, const struct chrome_event *event,
                      enum chrome_field field, uint32_t *ret_id)
{
    const struct json_value *value = &event->fields[field];
    *ret_id = 0;
    if (!has(event, field))
        return 0;
    if (value->type != SCAN_STRING) {
        *ret_id = event_store_string(parts->store, value->text);
        return chrome_parts_field(parts, field, value);
    }
    *ret_id = chrome_parts_string(parts, value);
    return *ret_id ? 0 : chrome_parts_field(parts, field, value);
}

static int find_site(struct chrome_parts *parts, const struct chrome_event *event,
                     struct store_site *site, uint32_t *ret_site)
{
    int status = text_field(parts, event, FIELD_CAT, &site->category);
    if (!status)
        status = text_field(parts, event, FIELD_NAME, &site->name);
    return status ? status : event_store_site(parts->store, site, ret_site);
}

static int add_extras(struct chrome_parts *parts, const struct chrome_event *event)
{
    int status = 0;
    for (size_t i = 0; i < event->extra_count && !status; i++)
        status = chrome_parts_add(parts, chrome_parts_string(parts, &event->extras[i].key), true,
                                  &event->extras[i].value);
    return status;
}

// A time of the event in ns; a field where that is not all that the file says.
static int read_time(struct chrome_parts *parts, const struct chrome_event *event,
                     enum chrome_field field, int64_t *ret_ns)
{
    *ret_ns = 0;
    if (!has(event, field))
        return chrome_parts_field(parts, field, NULL);
    const struct json_value *value = &event->fields[field];
    switch (chrome_time_of(value->text, ret_ns)) {
    case CHROME_TIME_EXACT:
        if (value->type == SCAN_NUMBER)
            return 0;
        break;
    case CHROME_TIME_ROUNDED:
        parts->repairs->counts[REPAIR_FINE]++;
        break;
    default:
        parts->repairs->counts[REPAIR_TIME]++;
    }
    return chrome_parts_field(parts, field, value);
}

static bool is_device_category(struct slice category)
{
    for (size_t i = 0; i < sizeof device_categories / sizeof device_categories[0]; i++)
        if (category.count == strlen(device_categories[i]) &&
            strncasecmp((const char *)category.bytes, device_categories[i], category.count) == 0)
            return true;
    return false;
}

static void note_device(struct chrome_reader *reader, uint32_t track, uint32_t category)
{
    struct event_store *store = reader->parts.store;
    if (store->tracks[track].is_device || !category ||
        !is_device_category(name_index_get(&store->strings, category)))
        return;
    store->tracks[track].is_device = reader->has_devices = true;
    store->tracks[track].kind = GAIT_TRACK_STREAM;
}

// FNV-1a of an id that is no number: only that equal ones are equal counts.
static uint64_t hash_id(struct slice text)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < text.count; i++)
        hash = (hash ^ text.bytes[i]) * 0x100000001B3u;
    return hash;
}

static int read_id(struct chrome_parts *parts, const struct chrome_event *event, uint64_t *ret_id)
{
    struct json_decimal decimal;
    *ret_id = 0;
    if (!has(event, FIELD_ID)) { // an id2, perhaps: it is among the extras
        for (size_t i = 0; i < event->extra_count; i++)
            if (json_is(&event->extras[i].key, "id2"))
                *ret_id = hash_id(event->extras[i].value.text);
        return chrome_parts_field(parts, FIELD_ID, NULL);
    }
    const struct json_value *value = &event->fields[FIELD_ID];
    const bool is_plain =
        json_decimal_of(value->text, &decimal) && !decimal.places && decimal.digits >= 0;
    *ret_id = is_plain ? (uint64_t)decimal.digits : hash_id(value->text);
    return is_plain && value->type == SCAN_NUMBER ? 0 : chrome_parts_field(parts, FIELD_ID, value);
}

// --- kinds ------------------------------------------------------------------

struct chrome_kind {
    char ph;
    uint8_t table, phase;
    bool has_id, has_field; // its ph must be told beside its table
};

static const struct chrome_kind kinds[] = {
    {'X', TABLE_SPAN, 0, false, false}, {'i', TABLE_MARK, 0, false, false},
    {'s', TABLE_FLOW, 0, true, false},  {'t', TABLE_FLOW, 1, true, false},
    {'f', TABLE_FLOW, 2, true, false},  {'b', TABLE_ASYNC, 0, true, false},
    {'e', TABLE_ASYNC, 1, true, false}, {'S', TABLE_ASYNC, 0, true, true},
    {'F', TABLE_ASYNC, 1, true, true},  {'B', TABLE_SPAN, 0, false, true},
};

static struct chrome_kind kind_of(char ph)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].ph == ph)
            return kinds[i];
    return (struct chrome_kind){ph, TABLE_MARK, 0, false, true};
}

// Whether the event has a time; without one it has no place.
static bool has_time(struct chrome_reader *reader, const struct chrome_event *event)
{
    int64_t ns;
    if (has(event, FIELD_TS) &&
        chrome_time_of(event->fields[FIELD_TS].text, &ns) != CHROME_TIME_BAD)
        return true;
    reader->parts.repairs->counts[REPAIR_TIME]++;
    return false;
}

// What all kinds have: place, names, time, fields and arguments.
struct chrome_made {
    struct row row;
    struct store_place place;
    struct store_site site;
    uint64_t text_ids; // numbers of it that were written as texts
};

static int make_event(struct chrome_reader *reader, const struct chrome_event *event,
                      const struct chrome_kind *kind, struct chrome_made *made)
{
    struct chrome_parts *parts = &reader->parts;
    int64_t duration = 0;
    parts->count = 0;
    *made = (struct chrome_made){.row.phase = kind->phase, .place.table = kind->table};
    int status = find_track(reader, event, &made->place.track);
    if (!status)
        status = find_site(parts, event, &made->site, &made->row.site);
    if (!status)
        status = read_time(parts, event, FIELD_TS, &made->row.start);
    if (!status && kind->ph == 'X')
        status = read_time(parts, event, FIELD_DUR, &duration);
    else if (!status && has(event, FIELD_DUR))
        status = chrome_parts_field(parts, FIELD_DUR, &event->fields[FIELD_DUR]);
    if (!status && duration < 0) {
        parts->repairs->counts[REPAIR_NEGATIVE]++;
        duration = 0;
        status = chrome_parts_field(parts, FIELD_DUR, &event->fields[FIELD_DUR]);
    }
    if (!status && kind->has_id)
        status = read_id(parts, event, &made->row.id);
    else if (!status && has(event, FIELD_ID))
        status = chrome_parts_field(parts, FIELD_ID, &event->fields[FIELD_ID]);
    if (!status && kind->has_field && has(event, FIELD_PH))
        status = chrome_parts_field(parts, FIELD_PH, &event->fields[FIELD_PH]);
    if (!status)
        status = add_extras(parts, event);
    if (!status && has(event, FIELD_ARGS))
        status = chrome_parts_add_args(parts, &event->fields[FIELD_ARGS]);
    made->row.duration = (uint64_t)duration;
    made->place.category = made->site.category;
    return status;
}

static int put_event(struct chrome_reader *reader, struct chrome_made *made)
{
    struct event_store *store = reader->parts.store;
    int status =
        form_table_find(&store->forms, reader->parts.parts, reader->parts.count, &made->row.form);
    if (!status)
        status = event_store_add(store, &made->place, &made->row);
    if (status)
        return status;
    if (made->place.table == TABLE_SPAN)
        note_device(reader, made->place.track, made->site.category);
    store->events++;
    return 1;
}

// A hole takes no exponent: such times are read the long way.
static bool add_hole(struct pattern_draft *pattern, const struct chrome_event *event,
                     struct slice value, struct draft_hole hole)
{
    if (memchr(value.bytes, 'e', value.count) || memchr(value.bytes, 'E', value.count))
        return false;
    if (pattern->hole_count == PATTERN_MOST_HOLES || value.bytes < event->text.bytes ||
        value.bytes + value.count > event->text.bytes + event->text.count)
        return false;
    hole.at = (uint32_t)(value.bytes - event->text.bytes);
    hole.bytes = (uint32_t)value.count;
    pattern->holes[pattern->hole_count++] = hole;
    return true;
}

// Numbers of the arguments that stand in columns.
static bool add_part_holes(const struct chrome_parts *parts, const struct chrome_event *event,
                           struct pattern_draft *pattern)
{
    const struct form_table *forms = &parts->store->forms;
    for (size_t i = 0; i < parts->count; i++) {
        const struct args_item *item = &parts->parts[i].item;
        struct draft_hole hole = {.blank = forms->blanks[i], .digits = item->digits};
        if (hole.blank == BLANK_COUNT || !parts->numbers[i].count)
            continue;
        if (item->kind == ARGS_REAL) // it will not be the same again
            return false;
        hole.kind = item->kind == ARGS_BLANK_DECIMAL ? HOLE_DECIMAL : HOLE_INTEGER;
        if ((item->kind == ARGS_INT || hole.kind == HOLE_DECIMAL) &&
            !add_hole(pattern, event, parts->numbers[i], hole))
            return false;
    }
    return true;
}

static bool has_field(const struct chrome_parts *parts, enum chrome_field field)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->parts[i].is_field && parts->parts[i].item.key == parts->field_ids[field])
            return true;
    return false;
}

// Lets events that are written like this one be read by comparing.
static void learn(struct chrome_reader *reader, const struct chrome_event *event,
                  const struct chrome_made *made, const struct chrome_kind *kind)
{
    const struct chrome_parts *parts = &reader->parts;
    struct pattern_draft pattern = {.text = event->text,
                                    .place = made->place,
                                    .row = made->row,
                                    .text_ids = (uint16_t)made->text_ids};
    bool is_fit = !has_field(parts, FIELD_TS) && !has_field(parts, FIELD_DUR) &&
                  !has_field(parts, FIELD_ID) &&
                  add_hole(&pattern, event, event->fields[FIELD_TS].text,
                           (struct draft_hole){.kind = HOLE_START});
    if (is_fit && kind->ph == 'X')
        is_fit = add_hole(&pattern, event, event->fields[FIELD_DUR].text,
                          (struct draft_hole){.kind = HOLE_DURATION});
    if (is_fit && kind->has_id)
        is_fit = add_hole(&pattern, event, event->fields[FIELD_ID].text,
                          (struct draft_hole){.kind = HOLE_ID});
    if (is_fit && add_part_holes(parts, event, &pattern))
        pattern_walk_note(&reader->walk,
                          pattern_table_learn(&reader->patterns, &pattern, &reader->walk.end));
}

// What was repaired since; numbers written as texts are left out where they are counted.
static bool is_sound(const struct repairs *before, const struct repairs *now,
                     uint64_t *ret_text_ids)
{
    struct repairs same = *before;
    *ret_text_ids = now->counts[REPAIR_TEXT_ID] - before->counts[REPAIR_TEXT_ID];
    same.counts[REPAIR_TEXT_ID] = now->counts[REPAIR_TEXT_ID];
    return memcmp(&same, now, sizeof same) == 0;
}

// What is not sound is repaired, and counted, each time: `before` is from before it was
// read, NULL where nothing is learnt.
static int take_plain(struct chrome_reader *reader, const struct chrome_event *event, char ph,
                      const struct repairs *before)
{
    const struct chrome_kind kind = kind_of(ph);
    struct chrome_made made;
    int status = make_event(reader, event, &kind, &made);
    if (!status)
        status = put_event(reader, &made);
    if (status == 1 && before && is_sound(before, reader->parts.repairs, &made.text_ids))
        learn(reader, event, &made, &kind);
    return status;
}

static int put_pattern(struct chrome_reader *reader, const struct pattern *pattern,
                       const struct row *row)
{
    struct event_store *store = reader->parts.store;
    reader->parts.repairs->counts[REPAIR_TEXT_ID] += pattern->text_ids;
    const int status = event_store_add(store, &pattern->place, row);
    store->events++;
    return status ? status : 1;
}

// An event that is written like one before it: 1, or 0 if it is not, or why it failed.
static int take_pattern(struct chrome_reader *reader, struct json_scan *scan)
{
    const struct slice text = {scan->at, (size_t)(scan->end - scan->at)};
    const struct chrome_noted *noted = NULL;
    const struct pattern *pattern;
    struct row row;
    if (reader->notes && scan->at >= reader->noted_from)
        noted = chrome_notes_at(reader->notes, (size_t)(scan->at - reader->noted_from));
    if (noted) {
        scan->at += noted->bytes;
        return put_pattern(reader, noted->pattern, &noted->row);
    }
    const size_t count = pattern_walk_match(&reader->walk, text, &pattern, &row);
    scan->at += count;
    return count ? put_pattern(reader, pattern, &row) : 0;
}

// --- begins and ends --------------------------------------------------------

static int take_begin(struct chrome_reader *reader, const struct chrome_event *event)
{
    uint32_t track;
    reader->parts.count = 0;
    int status = find_track(reader, event, &track);
    if (!status)
        status =
            chrome_begins_push(&reader->begins, track, event->text, event->fields[FIELD_NAME].text);
    return status ? status : 1;
}

// What the end says beside its time, under names of its own: the begin may say it, too.
static int add_end_extras(struct chrome_parts *parts, const struct chrome_event *end)
{
    int status = 0;
    for (size_t i = 0; i < end->extra_count && !status; i++) {
        const struct slice key = end->extras[i].key.text;
        parts->room.used = 0;
        status = buffer_printf(&parts->room, "gait.end.%.*s", (int)key.count, key.bytes);
        const struct slice name = {parts->room.bytes, parts->room.used};
        if (!status)
            status = chrome_parts_add(parts, event_store_string(parts->store, name), true,
                                      &end->extras[i].value);
    }
    return status;
}

// The arguments of both, as the format has it: what the end says again replaces what it was.
static int add_end(struct chrome_parts *parts, const struct chrome_event *end)
{
    const uint64_t before = parts->repairs->counts[REPAIR_DUPLICATE];
    int status = 0;
    if (has(end, FIELD_ARGS))
        status = chrome_parts_add_args(parts, &end->fields[FIELD_ARGS]);
    parts->repairs->counts[REPAIR_DUPLICATE] = before;
    return status ? status : add_end_extras(parts, end);
}

static bool is_empty_object(const struct json_value *value)
{
    struct repairs none = {{0}};
    struct json_scan scan = {value->text.bytes, value->text.bytes + value->text.count, &none};
    struct json_value key;
    return json_scan_enter(&scan, '{') && json_scan_key(&scan, &key) == 0;
}

// A span from its begin to an end, or to ROW_UNFINISHED where `end` is NULL and `end_ns` too.
static int put_span(struct chrome_reader *reader, const struct chrome_begin *opened,
                    const struct chrome_event *end, const int64_t *end_ns)
{
    static const struct json_value open = {.type = SCAN_NUMBER, .text = {(const uint8_t *)"1", 1}};
    struct chrome_parts *parts = &reader->parts;
    const struct chrome_kind kind = kind_of('B');
    struct chrome_event begin;
    struct chrome_made made;
    struct json_scan scan = {opened->text.bytes, opened->text.bytes + opened->text.count,
                             parts->repairs};
    if (scan_event(reader, &scan, &begin) != 1)
        return GAIT_ERR_STATE;
    if (end && !has(&begin, FIELD_NAME) && has(end, FIELD_NAME)) {
        begin.fields[FIELD_NAME] = end->fields[FIELD_NAME];
        begin.has |= 1u << FIELD_NAME;
    }
    if (end && has(end, FIELD_ARGS) && has(&begin, FIELD_ARGS) &&
        is_empty_object(&begin.fields[FIELD_ARGS]))
        begin.has &= ~(1u << FIELD_ARGS);
    int status = make_event(reader, &begin, &kind, &made);
    if (!status)
        status = end ? add_end(parts, end) : chrome_parts_field(parts, FIELD_UNFINISHED, &open);
    if (status)
        return status;
    parts->repairs->counts[REPAIR_UNFINISHED] += !end;
    made.row.duration = ROW_UNFINISHED;
    if (end_ns)
        made.row.duration = *end_ns > made.row.start ? (uint64_t)(*end_ns - made.row.start) : 0;
    status = put_event(reader, &made);
    return status == 1 ? 0 : status;
}

// An end takes the newest begin of its thread and name. What began behind that one in it, and
// has not ended, ends with it.
static int take_end(struct chrome_reader *reader, const struct chrome_event *event)
{
    struct chrome_parts *parts = &reader->parts;
    const struct chrome_begin *own = NULL;
    uint32_t track;
    int64_t end_ns = 0;
    parts->count = 0;
    int status = find_track(reader, event, &track);
    if (!status)
        status = read_time(parts, event, FIELD_TS, &end_ns);
    if (!status)
        own = chrome_begins_find(&reader->begins, track, event->fields[FIELD_NAME].text);
    if (status || !own) {
        parts->repairs->counts[REPAIR_UNPAIRED] += !status;
        return status ? status : take_plain(reader, event, 'E', NULL);
    }
    for (bool is_own = false; !is_own && !status;) {
        struct chrome_begin *begin = chrome_begins_pop(&reader->begins, track);
        is_own = begin == own;
        status = put_span(reader, begin, is_own ? event : NULL, &end_ns);
        free(begin);
    }
    return status ? status : 1;
}

int chrome_reader_end(struct chrome_reader *reader)
{
    int status = 0;
    for (uint32_t track = 0; track < reader->begins.room && !status; track++) {
        struct chrome_begin *begin;
        while (!status && (begin = chrome_begins_pop(&reader->begins, track))) {
            status = put_span(reader, begin, NULL, NULL);
            free(begin);
        }
    }
    reader->parts.repairs->counts[REPAIR_UNPAIRED] += event_store_lone_ends(reader->parts.store);
    return status;
}

static bool is_integer_part(const struct form_part *part)
{
    return part->item.kind == ARGS_INT;
}

static bool is_number_part(const struct form_part *part)
{
    return part->item.kind == ARGS_INT || part->item.kind == ARGS_REAL ||
           part->item.kind == ARGS_BLANK_DECIMAL;
}

static uint64_t series_value(const struct form_part *part, bool is_real)
{
    double real = part->item.real;
    uint64_t bits;
    if (!is_real)
        return (uint64_t)part->item.integer;
    if (part->item.kind != ARGS_REAL) {
        real = (double)part->item.integer;
        double scale = 1;
        for (unsigned i = 0; i < part->item.digits; i++)
            scale *= 10;
        real /= scale;
    }
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

// A name for one of several series of a counter.
static int series_site(struct chrome_reader *reader, const struct chrome_made *made, uint32_t key,
                       uint32_t *ret_site)
{
    struct event_store *store = reader->parts.store;
    const struct slice name = name_index_get(&store->strings, made->site.name);
    const struct slice series = name_index_get(&store->strings, key);
    struct buffer *room = &reader->parts.room;
    room->used = 0;
    int status = buffer_append(room, name.bytes, name.count);
    if (!status && name.count && series.count)
        status = buffer_append(room, " ", 1);
    if (!status)
        status = buffer_append(room, series.bytes, series.count);
    const struct store_site site = {
        made->site.category, event_store_string(store, (struct slice){room->bytes, room->used})};
    return status ? status : event_store_site(store, &site, ret_site);
}

// A counter's value for each series; the first row has the arguments as they stood.
static int take_counter(struct chrome_reader *reader, const struct chrome_event *event)
{
    static const struct chrome_kind kind = {'C', TABLE_COUNTER, 0, false, false};
    static const struct json_value echo = {.type = SCAN_NUMBER, .text = {(const uint8_t *)"1", 1}};
    struct chrome_parts *parts = &reader->parts;
    struct chrome_made made;
    size_t series = 0, first = 0;
    bool is_real = false;
    int status = make_event(reader, event, &kind, &made);
    if (status)
        return status;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->parts[i].is_field || !is_number_part(&parts->parts[i]))
            continue;
        first = series++ ? first : i;
        is_real |= !is_integer_part(&parts->parts[i]);
    }
    if (!series)
        return take_plain(reader, event, 'C', NULL);
    made.place.table = is_real ? TABLE_COUNTER_REAL : TABLE_COUNTER;
    made.row.id = series_value(&parts->parts[first], is_real);
    const struct chrome_made whole = made;
    struct form_part kept[FORM_MOST_PARTS];
    const size_t count = parts->count;
    memcpy(kept, parts->parts, count * sizeof *kept);
    if (series > 1) {
        status = series_site(reader, &whole, kept[first].item.key, &made.row.site);
        const struct json_value name = {
            .type = SCAN_STRING, .text = name_index_get(&parts->store->strings, whole.site.name)};
        if (!status)
            status = chrome_parts_field(parts, FIELD_NAME, &name);
    }
    status = status ? status : put_event(reader, &made);
    for (size_t i = first + 1; i < count && status == 1; i++) {
        if (kept[i].is_field || !is_number_part(&kept[i]))
            continue;
        parts->count = 0;
        made = whole;
        made.row.id = series_value(&kept[i], is_real);
        status = series_site(reader, &whole, kept[i].item.key, &made.row.site);
        if (!status)
            status = chrome_parts_field(parts, FIELD_ECHO, &echo);
        if (!status)
            status = put_event(reader, &made);
        parts->store->events -= status == 1;
    }
    return status;
}

// --- names ------------------------------------------------------------------

static void name_track(struct chrome_reader *reader, const struct chrome_event *event,
                       const struct json_value *name)
{
    struct event_store *store = reader->parts.store;
    const bool is_thread = json_is(&event->fields[FIELD_NAME], "thread_name");
    uint32_t track;
    reader->parts.count = 0;
    if (find_track(reader, event, &track)) {
        fail_clear();
        return;
    }
    if (!is_thread && store->tracks[track].parent)
        track = store->tracks[track].parent - 1;
    // a process's labels say more than the name that all of them have
    if (is_thread || !store->tracks[track].name ||
        json_is(&event->fields[FIELD_NAME], "process_labels"))
        store->tracks[track].name = chrome_parts_string(&reader->parts, name);
}

// Kept as it stands, and understood where it names something.
static int take_metadata(struct chrome_reader *reader, const struct chrome_event *event)
{
    const struct slice args =
        has(event, FIELD_ARGS) ? event->fields[FIELD_ARGS].text : slice_of("");
    struct json_scan scan = {args.bytes, args.bytes + args.count, reader->parts.repairs};
    struct json_value key, value;
    if (event_store_naming(reader->parts.store, event->text)) {
        fail_clear();
        reader->parts.repairs->counts[REPAIR_LOST]++;
    }
    if (json_scan_enter(&scan, '{') && json_scan_member(&scan, &key, &value) == 1 &&
        value.type == SCAN_STRING && (json_is(&key, "name") || json_is(&key, "labels")))
        name_track(reader, event, &value);
    return 1;
}

int chrome_reader_event(struct chrome_reader *reader, struct json_scan *scan)
{
    struct chrome_event event;
    const int taken = take_pattern(reader, scan);
    if (taken)
        return taken;
    const struct repairs before = *reader->parts.repairs;
    const int got = scan_event(reader, scan, &event);
    if (got != 1) {
        if (got == SCAN_CUT) // it is read again
            *reader->parts.repairs = before;
        return got;
    }
    if (!event.has && !event.extra_count) // writers close a list that ends in a comma with {}
        return 1;
    const char ph = phase_of(&event);
    if (ph && ph != 'M' && !has_time(reader, &event))
        return 1;
    switch (ph) {
    case '\0':
        return SCAN_BROKEN;
    case 'M':
        return take_metadata(reader, &event);
    case 'B':
        return take_begin(reader, &event);
    case 'E':
        return take_end(reader, &event);
    case 'C':
        return take_counter(reader, &event);
    default:
        return take_plain(reader, &event, ph, &before);
    }
}
