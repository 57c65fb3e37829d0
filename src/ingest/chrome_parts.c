// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "ingest/event_draft.h"

#define MOST_TEXT ((size_t)1 << 30)
#define MOST_STRINGS ((size_t)16 << 20)
#define EXACT (INT64_C(1) << 53)
enum { MOST_ARGS = FORM_MOST_PARTS - 16 };

int chrome_parts_init(struct chrome_parts *parts, struct event_store *store,
                      struct repairs *repairs)
{
    static const char *const names[] = {
#define X(identifier, name) name,
        CHROME_FIELDS(X)
#undef X
    };
    *parts = (struct chrome_parts){.store = store, .repairs = repairs};
    buffer_init(&parts->room, MOST_TEXT);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        parts->field_ids[i] = event_store_string(store, slice_of(names[i]));
    return event_draft_init(NULL, store);
}

void chrome_parts_finish(struct chrome_parts *parts)
{
    buffer_finish(&parts->room);
    free(parts->json_states);
}

uint32_t chrome_parts_string(struct chrome_parts *parts, const struct json_value *value)
{
    struct json_scan scan = {.repairs = parts->repairs};
    return event_store_string(parts->store, json_scan_text(&scan, value, &parts->room));
}

// Whether the text is JSON that others take. What is not is kept as a text.
static int check_json(struct chrome_parts *parts, uint32_t id, struct slice text, bool *ret_is_json)
{
    const int status =
        ARRAY_RESERVE_ZEROED(parts->json_states, parts->json_room, (size_t)id + 1, MOST_STRINGS);
    if (status)
        return status;
    if (!parts->json_states[id])
        parts->json_states[id] = json_is_valid(text) ? 1 : 2;
    *ret_is_json = parts->json_states[id] == 1;
    return 0;
}

static int json_item(struct chrome_parts *parts, struct slice text, struct args_item *item)
{
    bool is_json = false;
    const uint32_t id = event_store_string(parts->store, text);
    const int status = check_json(parts, id, text, &is_json);
    item->kind = is_json ? ARGS_JSON : ARGS_STRING;
    item->integer = id;
    return status;
}

static double real_in(struct slice text)
{
    char copy[400];
    const size_t count = text.count < sizeof copy ? text.count : sizeof copy - 1;
    memcpy(copy, text.bytes, count);
    copy[count] = '\0';
    return strtod(copy, NULL);
}

static bool is_integer(struct slice text)
{
    for (size_t i = 0; i < text.count; i++)
        if ((text.bytes[i] < '0' || text.bytes[i] > '9') && (i || text.bytes[i] != '-'))
            return false;
    return true;
}

static int number_item(struct chrome_parts *parts, struct slice text, struct args_item *item)
{
    struct json_decimal decimal;
    const bool is_plain = json_decimal_of(text, &decimal);
    if (is_plain && !decimal.places && is_integer(text)) {
        item->kind = ARGS_INT;
        item->integer = decimal.digits;
    } else if (is_plain && decimal.places && decimal.places <= ARGS_MAX_DIGITS && decimal.digits &&
               decimal.digits < EXACT && decimal.digits > -EXACT) {
        item->kind = ARGS_BLANK_DECIMAL;
        item->integer = decimal.digits;
        item->digits = (uint8_t)decimal.places;
    } else if (is_integer(text)) {
        parts->repairs->counts[REPAIR_LARGE]++;
        return json_item(parts, text, item);
    } else {
        item->kind = ARGS_REAL;
        item->real = real_in(text);
    }
    return 0;
}

static int make_item(struct chrome_parts *parts, const struct json_value *value,
                     struct args_item *item)
{
    switch (value->type) {
    case SCAN_STRING:
        item->kind = ARGS_STRING;
        item->integer = chrome_parts_string(parts, value);
        return 0;
    case SCAN_NUMBER:
        return number_item(parts, value->text, item);
    case SCAN_WORD:
        if (json_is(value, "true") || json_is(value, "false") || json_is(value, "null"))
            return json_item(parts, value->text, item);
        item->kind = ARGS_REAL;
        item->real = memchr(value->text.bytes, 'I', value->text.count) ||
                             memchr(value->text.bytes, 'i', value->text.count)
                         ? INFINITY
                         : NAN;
        if (value->text.bytes[0] == '-')
            item->real = -item->real;
        return 0;
    default:
        return json_item(parts, value->text, item);
    }
}

int chrome_parts_add(struct chrome_parts *parts, uint32_t key, bool is_field,
                     const struct json_value *value)
{
    struct form_part part = {.item = {.key = key}, .is_field = is_field};
    const int status = make_item(parts, value, &part.item);
    if (status)
        return status;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->parts[i].item.key != key || parts->parts[i].is_field != is_field)
            continue;
        parts->repairs->counts[REPAIR_DUPLICATE]++;
        parts->parts[i] = part;
        parts->numbers[i] = (struct slice){0};
        return 0;
    }
    if (parts->count == FORM_MOST_PARTS)
        return fail(GAIT_ERR_MEMORY, "an event has more than %d fields", FORM_MOST_PARTS);
    parts->numbers[parts->count] = value->type == SCAN_NUMBER ? value->text : (struct slice){0};
    parts->parts[parts->count++] = part;
    return 0;
}

int chrome_parts_field(struct chrome_parts *parts, enum chrome_field field,
                       const struct json_value *value)
{
    static const struct json_value absent = {.type = SCAN_WORD,
                                             .text = {(const uint8_t *)"false", 5}};
    return chrome_parts_add(parts, parts->field_ids[field], true, value ? value : &absent);
}

int chrome_parts_add_args(struct chrome_parts *parts, const struct json_value *object)
{
    const uint32_t field = parts->field_ids[FIELD_ARGS];
    const size_t before = parts->count;
    struct json_scan scan = {object->text.bytes, object->text.bytes + object->text.count,
                             parts->repairs};
    struct json_value key, value;
    int status = 0, got = 1;
    if (object->type != SCAN_OBJECT || !json_scan_enter(&scan, '{'))
        return chrome_parts_add(parts, field, true, object);
    while (!status && (got = json_scan_member(&scan, &key, &value)) == 1) {
        if (parts->count - before >= MOST_ARGS) {
            got = SCAN_BROKEN;
            break;
        }
        status = chrome_parts_add(parts, chrome_parts_string(parts, &key), false, &value);
    }
    const bool is_empty = !status && !got && parts->count == before;
    if (!status && (is_empty || got)) {
        parts->count = before;
        status = chrome_parts_add(parts, field, true, object);
    }
    return status;
}
