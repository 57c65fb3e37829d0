// SPDX-License-Identifier: Apache-2.0
#include "ingest/form_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_FORMS ((size_t)16 << 20)
#define MOST_BYTES ((size_t)1 << 26)
#define FEW_FORMS 24     // of a shape: before that nothing becomes a blank
#define FORMS_PER_USE 12 // a shape makes a new form this seldom, or something must give

// What is known of a key: 0 nothing; else its place + 1, or PLACE_VALUE + the value's number.
#define PLACE_VALUE 16

struct form_shape {
    uint64_t uses, forms;
    uint64_t last[FORM_MOST_PARTS];    // what the part's value was
    uint32_t changes[FORM_MOST_PARTS]; // how often it was not what it was before
    bool is_blank[FORM_MOST_PARTS];
};

void form_table_init(struct form_table *table)
{
    *table = (struct form_table){.next_value = BLANK_VALUE};
    name_index_init(&table->packed);
    name_index_init(&table->shapes);
    buffer_init(&table->scratch, MOST_BYTES);
    buffer_init(&table->key, MOST_BYTES);
}

void form_table_finish(struct form_table *table)
{
    name_index_finish(&table->packed);
    name_index_finish(&table->shapes);
    buffer_finish(&table->scratch);
    buffer_finish(&table->key);
    free(table->forms);
    free(table->shape_list);
    free(table->places);
}

int form_table_place(struct form_table *table, uint32_t key, enum form_place place)
{
    int status =
        ARRAY_RESERVE_ZEROED(table->places, table->place_room, (size_t)key + 1, MOST_FORMS);
    if (!status)
        table->places[key] = (uint8_t)(place + 1);
    return status;
}

static enum form_place place_of(const struct form_table *table, uint32_t key, bool *ret_is_known)
{
    const unsigned told = key < table->place_room ? table->places[key] : 0;
    *ret_is_known = told != 0;
    return told && told < PLACE_VALUE ? (enum form_place)(told - 1) : FORM_ANYWHERE;
}

// The column for the values of a key: always the same one, unless another part of this
// form has it already. BLANK_COUNT: they are all taken.
static unsigned blank_of(struct form_table *table, uint32_t key, uint16_t taken)
{
    bool is_known;
    const enum form_place place = place_of(table, key, &is_known);
    if (place >= FORM_LINK && place <= FORM_BYTES) {
        const unsigned blank = BLANK_LINK + (unsigned)place - FORM_LINK;
        if (!(taken >> blank & 1))
            return blank;
    }
    if (key >= table->place_room && form_table_place(table, key, FORM_ANYWHERE))
        return BLANK_COUNT;
    unsigned wanted = table->places[key];
    if (wanted < PLACE_VALUE && (!wanted || place == FORM_ANYWHERE)) {
        wanted = table->places[key] = (uint8_t)(PLACE_VALUE + table->next_value);
        table->next_value =
            table->next_value + 1 == BLANK_COUNT ? BLANK_VALUE : table->next_value + 1;
    }
    unsigned blank = wanted >= PLACE_VALUE ? wanted - PLACE_VALUE : BLANK_VALUE;
    for (unsigned tries = 0; tries < BLANK_COUNT - BLANK_VALUE; tries++) {
        if (!(taken >> blank & 1))
            return blank;
        blank = blank + 1 == BLANK_COUNT ? BLANK_VALUE : blank + 1;
    }
    return BLANK_COUNT;
}

static uint64_t bits_of(const struct args_item *item)
{
    uint64_t bits = (uint64_t)item->integer;
    if (item->kind == ARGS_REAL)
        memcpy(&bits, &item->real, sizeof bits);
    return bits;
}

// The kind that a blank for such a value has; 0: it cannot be one.
static enum args_kind blank_kind(const struct args_item *item)
{
    static const uint8_t kinds[] = {[ARGS_INT] = ARGS_BLANK_INT,
                                    [ARGS_REAL] = ARGS_BLANK_REAL,
                                    [ARGS_STRING] = ARGS_BLANK_STRING,
                                    [ARGS_JSON] = ARGS_BLANK_JSON,
                                    [ARGS_BLANK_DECIMAL] = ARGS_BLANK_DECIMAL};
    return item->kind < sizeof kinds ? (enum args_kind)kinds[item->kind] : (enum args_kind)0;
}

// The shape of these parts: their keys and kinds.
static struct form_shape *find_shape(struct form_table *table, const struct form_part *parts,
                                     size_t count)
{
    const size_t before = table->shapes.texts.count;
    uint64_t *key = (uint64_t *)(void *)buffer_reserve(&table->key, count * sizeof *key);
    if (!key)
        return NULL;
    for (size_t i = 0; i < count; i++)
        key[i] = (uint64_t)parts[i].item.key << 16 | (uint64_t)parts[i].item.digits << 8 |
                 (uint64_t)parts[i].item.kind << 1 | parts[i].is_field;
    const struct slice bytes = {(const uint8_t *)key, count * sizeof *key};
    const uint32_t number = name_index_number(&table->shapes, bytes);
    if (!number || ARRAY_RESERVE(table->shape_list, table->shape_room, number, MOST_FORMS))
        return NULL;
    struct form_shape *found = &table->shape_list[number - 1];
    if (table->shapes.texts.count == before)
        return found;
    *found = (struct form_shape){.uses = 0};
    for (size_t i = 0; i < count; i++) {
        bool is_known;
        const enum form_place place = place_of(table, parts[i].item.key, &is_known);
        found->is_blank[i] = is_known && place != FORM_FIXED && blank_kind(&parts[i].item);
    }
    return found;
}

// The column of a blank for this part; BLANK_COUNT where it must stand in the form.
static unsigned choose_blank(struct form_table *table, const struct form_shape *shape, size_t part,
                             const struct args_item *item, uint16_t taken)
{
    return shape->is_blank[part] ? blank_of(table, item->key, taken) : BLANK_COUNT;
}

static double real_of(const struct args_item *item)
{
    double scale = 1;
    for (unsigned i = 0; i < item->digits; i++)
        scale *= 10;
    return (double)item->integer / scale;
}

static int pack_part(struct form_table *table, const struct form_shape *shape,
                     const struct form_part *parts, size_t at, struct form_event *event)
{
    struct args_item item = parts[at].item;
    const unsigned blank = choose_blank(table, shape, at, &item, event->mask);
    table->blanks[at] = (uint8_t)blank;
    if (blank < BLANK_COUNT) {
        event->values[blank] = bits_of(&item);
        event->mask |= (uint16_t)(1u << blank);
        item = (struct args_item){.key = item.key,
                                  .kind = blank_kind(&item),
                                  .blank = (uint8_t)blank,
                                  .digits = item.digits};
    } else if (item.kind == ARGS_BLANK_DECIMAL) {
        item = (struct args_item){.key = item.key, .kind = ARGS_REAL, .real = real_of(&item)};
    }
    return args_append(&table->scratch, &item);
}

// The parts as bytes in the scratch of the table: arguments first, then fields.
static int pack(struct form_table *table, const struct form_shape *shape,
                const struct form_part *parts, size_t count, struct form_event *event)
{
    int status = 0;
    table->scratch.used = 0;
    event->mask = 0;
    for (size_t i = 0; i < count && !status; i++)
        if (!parts[i].is_field)
            status = pack_part(table, shape, parts, i, event);
    table->args_bytes = table->scratch.used;
    // what has the same bytes with another border between the two must not be the same
    if (!status)
        status = buffer_append(&table->scratch, "", 1);
    for (size_t i = 0; i < count && !status; i++)
        if (parts[i].is_field)
            status = pack_part(table, shape, parts, i, event);
    return status;
}

static void watch(struct form_shape *shape, const struct form_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = bits_of(&parts[i].item);
        shape->changes[i] += bits != shape->last[i];
        shape->last[i] = bits;
    }
    shape->uses++;
}

// Makes a blank of what changes most; false where nothing is left that could be one.
static bool open_up(struct form_shape *shape, const struct form_part *parts, size_t count)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        if (shape->is_blank[i] || !blank_kind(&parts[i].item) || shape->changes[i] < 2)
            continue;
        if (best == count || shape->changes[i] > shape->changes[best])
            best = i;
    }
    if (best < count)
        shape->is_blank[best] = true;
    shape->forms = FEW_FORMS / 2; // what comes now is counted anew
    shape->uses = 0;
    return best < count;
}

static int note_form(struct form_table *table, const struct form_event *event)
{
    const int status = ARRAY_RESERVE(table->forms, table->form_room, event->form, MOST_FORMS);
    if (!status)
        table->forms[event->form - 1] = (struct form_about){table->args_bytes, event->mask};
    return status;
}

int form_table_find(struct form_table *table, const struct form_part *parts, size_t count,
                    struct form_event *ret_event)
{
    *ret_event = (struct form_event){.form = 0};
    if (!count)
        return 0;
    struct form_shape *shape = find_shape(table, parts, count);
    if (!shape)
        return fail(GAIT_ERR_MEMORY, "no memory for the arguments of events");
    watch(shape, parts, count);
    for (int tries = 0; tries < 2; tries++) {
        int status = pack(table, shape, parts, count, ret_event);
        if (status)
            return status;
        const size_t before = table->packed.texts.count;
        const struct slice bytes = {table->scratch.bytes, table->scratch.used};
        ret_event->form = name_index_number(&table->packed, bytes);
        if (!ret_event->form)
            return fail(GAIT_ERR_MEMORY, "no memory for the arguments of events");
        if (table->packed.texts.count == before)
            return 0;
        status = note_form(table, ret_event);
        if (status)
            return status;
        shape->forms++;
        if (shape->forms < FEW_FORMS || shape->forms * FORMS_PER_USE < shape->uses ||
            !open_up(shape, parts, count))
            return 0;
    }
    return 0;
}

void form_table_bytes(const struct form_table *table, uint32_t form, struct slice *ret_args,
                      struct slice *ret_fields)
{
    const struct slice all = name_index_get(&table->packed, form);
    const size_t args_bytes = table->forms[form - 1].args_bytes;
    *ret_args = (struct slice){all.bytes, args_bytes};
    *ret_fields = (struct slice){all.bytes + args_bytes + 1, all.count - args_bytes - 1};
}
