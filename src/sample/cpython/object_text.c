// SPDX-License-Identifier: Apache-2.0
// Every loop here is bounded by numbers of our own, never by one that was read.
#include "sample/cpython/object_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "sample/cpython/python_text.h"
#include "sample/cpython/tensor_text.h"

enum { DEPTH_MOST = 3, ITEMS_MOST = 10, ITEMS_INSIDE = 4, ENOUGH = 400 };
enum { CHARACTERS_MOST = 120, CHARACTERS_INSIDE = 40 };
enum { DIGITS_MOST = 546, DIGITS_INSIDE = 8 }; // of 30 bits
enum { SET_SLOTS_MOST = 2048, SLOTS_AT_ONCE = 64 };

struct writing {
    struct object_reader *reader;
    char *out;
    size_t used;
    unsigned depth; // of the containers around
};

static void put_value(struct writing *w, uint64_t address, char *type);

__attribute__((format(printf, 2, 3))) static void put(struct writing *w, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int wanted = vsnprintf(w->out + w->used, OBJECT_TEXT_ROOM - w->used, format, values);
    va_end(values);
    if (wanted > 0)
        w->used += (size_t)wanted < OBJECT_TEXT_ROOM - w->used ? (size_t)wanted
                                                               : OBJECT_TEXT_ROOM - 1 - w->used;
}

static void put_unreadable(struct writing *w, uint64_t address)
{
    if (address)
        put(w, "<unreadable at 0x%" PRIx64 ">", address);
    else
        put(w, "<NULL>");
}

// Digits of 30 bits, the lowest first, as decimal digits.
static void put_decimal(struct writing *w, const uint32_t *digits, size_t count)
{
    enum { LIMBS = 560 };
    uint32_t limbs[LIMBS] = {0}; // nine decimal digits each
    size_t used = 1;
    for (size_t i = count; i-- > 0;) {
        uint64_t carry = digits[i];
        for (size_t k = 0; k < used; k++) {
            carry += (uint64_t)limbs[k] << 30;
            limbs[k] = (uint32_t)(carry % 1000000000u);
            carry /= 1000000000u;
        }
        for (; carry && used < LIMBS; carry /= 1000000000u)
            limbs[used++] = (uint32_t)(carry % 1000000000u);
    }
    put(w, "%" PRIu32, limbs[used - 1]);
    for (size_t i = used - 1; i-- > 0;)
        put(w, "%09" PRIu32, limbs[i]);
}

static void put_int(struct writing *w, const struct object *object)
{
    const struct layout *layout = w->reader->layout;
    uint32_t digits[DIGITS_MOST];
    bool is_negative;
    const uint64_t count = object_digits(layout, object, &is_negative);
    if (count > (w->depth ? DIGITS_INSIDE : DIGITS_MOST)) {
        put(w, "<%sint of about %" PRIu64 " bits>", is_negative ? "negative " : "",
            count < UINT64_MAX / 30 ? count * 30 : count);
        return;
    }
    if (!object_get(w->reader, object->address + (uint64_t)layout->integer_digits, digits,
                    count * sizeof digits[0]) &&
        count) {
        put_unreadable(w, object->address);
        return;
    }
    for (size_t i = 0; i < count; i++)
        digits[i] &= (1u << 30) - 1;
    put(w, "%s", is_negative ? "-" : "");
    put_decimal(w, digits, count);
}

// The fewest digits that give the number back, as Python chooses their form.
static void put_real(struct writing *w, double value)
{
    const double size = fabs(value);
    char digits[48];
    if (!isfinite(value)) {
        put(w, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
    for (int i = is_plain; i <= (is_plain ? 21 : 17); i++) {
        snprintf(digits, sizeof digits, is_plain ? "%.*f" : "%.*e", i, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    put(w, "%s", digits);
}

static void put_character(struct writing *w, uint32_t c, char quote)
{
    char text[5] = "";
    if (c == '\\' || c == (unsigned char)quote)
        put(w, "\\%c", (int)c);
    else if (c == '\n' || c == '\t' || c == '\r')
        put(w, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    else if (c < 32 || (c >= 127 && c < 160) || c == 0xad)
        put(w, "\\x%02" PRIx32, c);
    else if ((c >= 0xd800 && c < 0xe000) || (c >= 0x200b && c < 0x2010) ||
             (c >= 0x2028 && c < 0x2030) || (c >= 0x2060 && c < 0x2070) || c == 0xfeff)
        put(w, "\\u%04" PRIx32, c);
    else if (c > 0x10ffff)
        put(w, "?");
    else {
        python_text_put(text, c);
        put(w, "%s", text);
    }
}

static void put_left(struct writing *w, uint64_t left)
{
    if (left)
        put(w, " ... %" PRIu64 " more", left);
}

static size_t characters_shown(const struct writing *w, uint64_t count)
{
    const size_t most = w->depth ? CHARACTERS_INSIDE : CHARACTERS_MOST;
    return count < most ? (size_t)count : most;
}

static char quote_for(const uint8_t *text, unsigned kind, size_t count)
{
    bool has_single = false, has_double = false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t c = python_text_character(text, kind, i);
        has_single = has_single || c == '\'';
        has_double = has_double || c == '"';
    }
    return has_single && !has_double ? '"' : '\'';
}

static void put_quoted(struct writing *w, const uint8_t *text, unsigned kind, size_t count)
{
    const char quote = quote_for(text, kind, count);
    put(w, "%c", quote);
    for (size_t i = 0; i < count; i++)
        put_character(w, python_text_character(text, kind, i), quote);
    put(w, "%c", quote);
}

static void put_str(struct writing *w, const struct object *object)
{
    const struct layout *layout = w->reader->layout;
    uint8_t head[LAYOUT_TEXT_BYTES], text[4 * CHARACTERS_MOST];
    struct python_text_head about;
    if (!object_get(w->reader, object->address, head, (size_t)layout->text_ascii) ||
        !python_text_head(layout, head, &about)) {
        put_unreadable(w, object->address);
        return;
    }
    const size_t shown = characters_shown(w, about.count);
    uint64_t data = object->address + about.data;
    if ((about.is_apart && !object_get(w->reader, data, &data, sizeof data)) ||
        (shown && !object_get(w->reader, data, text, shown * about.kind))) {
        put_unreadable(w, object->address);
        return;
    }
    put_quoted(w, text, about.kind, shown);
    put_left(w, about.count - shown);
}

static void put_bytes(struct writing *w, const struct object *object)
{
    const struct layout *layout = w->reader->layout;
    const uint64_t count = object_word(object, layout->sized_count);
    const size_t shown = characters_shown(w, count);
    uint8_t text[CHARACTERS_MOST];
    if (shown &&
        !object_get(w->reader, object->address + (uint64_t)layout->bytes_data, text, shown)) {
        put_unreadable(w, object->address);
        return;
    }
    const char quote = quote_for(text, 1, shown);
    put(w, "b%c", quote);
    for (size_t i = 0; i < shown; i++)
        if (text[i] < 127)
            put_character(w, text[i], quote);
        else
            put(w, "\\x%02x", text[i]);
    put(w, "%c", quote);
    put_left(w, count - shown);
}

// Whether one item more is written; the comma before it is.
static bool is_next_shown(struct writing *w, uint64_t index)
{
    if (index >= (w->depth > 1 ? ITEMS_INSIDE : ITEMS_MOST) || w->used > ENOUGH)
        return false;
    if (index)
        put(w, ", ");
    return true;
}

static void put_items(struct writing *w, uint64_t items, uint64_t count)
{
    uint64_t i = 0;
    for (; i < count && is_next_shown(w, i); i++) {
        uint64_t item = 0;
        if (object_get(w->reader, items + 8 * i, &item, sizeof item))
            put_value(w, item, NULL);
        else
            put_unreadable(w, items + 8 * i);
    }
    put_left(w, count - i);
}

static void put_tuple(struct writing *w, const struct object *object)
{
    const struct layout *layout = w->reader->layout;
    const uint64_t count = object_word(object, layout->sized_count);
    put(w, "(");
    put_items(w, object->address + (uint64_t)layout->tuple_items, count);
    put(w, count == 1 ? ",)" : ")");
}

static void put_list(struct writing *w, const struct object *object)
{
    const struct layout *layout = w->reader->layout;
    put(w, "[");
    put_items(w, object_word(object, layout->list_items), object_word(object, layout->sized_count));
    put(w, "]");
}

static void put_dict(struct writing *w, const struct object *object)
{
    struct dict_walk walk;
    uint64_t i = 0;
    if (!dict_walk_begin(&walk, w->reader, object)) {
        put_unreadable(w, object->address);
        return;
    }
    put(w, "{");
    while (i < walk.used && dict_walk_next(&walk) && is_next_shown(w, i)) {
        put_value(w, walk.key, NULL);
        put(w, ": ");
        put_value(w, walk.value, NULL);
        i++;
    }
    put_left(w, walk.used - i);
    put(w, "}");
}

struct set_slot {
    uint64_t key, hash; // hash -1: of one that was taken out
};

// The items of one stretch of slots; false when enough was written.
static bool put_slots(struct writing *w, const struct set_slot *slots, size_t count,
                      uint64_t *written)
{
    for (size_t i = 0; i < count; i++) {
        if (!slots[i].key || slots[i].hash == UINT64_MAX)
            continue;
        if (!is_next_shown(w, *written))
            return false;
        put_value(w, slots[i].key, NULL);
        ++*written;
    }
    return true;
}

static void put_set(struct writing *w, const struct object *object, bool is_frozen)
{
    const struct layout *layout = w->reader->layout;
    const uint64_t used = object_word(object, layout->set_used);
    const uint64_t slots = object_word(object, layout->set_mask) + 1;
    const uint64_t table = object_word(object, layout->set_table);
    struct set_slot some[SLOTS_AT_ONCE];
    uint64_t written = 0;
    bool has_more = used != 0;
    put(w, is_frozen ? "frozenset(" : used ? "" : "set(");
    put(w, used ? "{" : "");
    for (uint64_t at = 0; has_more && at < slots && at < SET_SLOTS_MOST; at += SLOTS_AT_ONCE) {
        const size_t count = slots - at < SLOTS_AT_ONCE ? slots - at : SLOTS_AT_ONCE;
        has_more =
            object_get(w->reader, table + at * sizeof some[0], some, count * sizeof some[0]) &&
            put_slots(w, some, count, &written);
    }
    if (used > written)
        put_left(w, used - written);
    put(w, used ? "}" : "");
    put(w, is_frozen || !used ? ")" : "");
}

static void put_type(struct writing *w, const struct object *object)
{
    const struct object_type *type = object_type_at(w->reader, object->address);
    if (type)
        put(w, "<class '%s'>", type->name);
    else
        put_unreadable(w, object->address);
}

static void put_real_object(struct writing *w, const struct object *object)
{
    const uint64_t word = object_word(object, w->reader->layout->real_value);
    double value;
    memcpy(&value, &word, sizeof value);
    put_real(w, value);
}

static void put_bool(struct writing *w, const struct object *object)
{
    bool is_negative;
    put(w, object_digits(w->reader->layout, object, &is_negative) ? "True" : "False");
}

// What holds other objects, if there is room for that.
static void put_container(struct writing *w, const struct object *object, enum object_kind kind)
{
    if (w->depth >= DEPTH_MOST) {
        put(w, kind == OBJECT_LIST ? "[...]" : kind == OBJECT_TUPLE ? "(...)" : "{...}");
        return;
    }
    w->depth++;
    if (kind == OBJECT_TUPLE)
        put_tuple(w, object);
    else if (kind == OBJECT_LIST)
        put_list(w, object);
    else if (kind == OBJECT_DICT)
        put_dict(w, object);
    else
        put_set(w, object, kind == OBJECT_FROZENSET);
    w->depth--;
}

static void put_kind(struct writing *w, const struct object *object, enum object_kind kind)
{
    switch (kind) {
    case OBJECT_NONE:
        put(w, "None");
        return;
    case OBJECT_BOOL:
        put_bool(w, object);
        return;
    case OBJECT_INT:
        put_int(w, object);
        return;
    case OBJECT_REAL:
        put_real_object(w, object);
        return;
    case OBJECT_STR:
        put_str(w, object);
        return;
    case OBJECT_BYTES:
        put_bytes(w, object);
        return;
    case OBJECT_TYPE:
        put_type(w, object);
        return;
    default:
        put_container(w, object, kind);
    }
}

static void put_value(struct writing *w, uint64_t address, char *type)
{
    struct object object;
    if (!object_read(w->reader, address, &object)) {
        put_unreadable(w, address);
        return;
    }
    // reading what it holds may take its type's place
    const enum object_kind kind = object.type->kind;
    const bool is_derived = !object.type->is_exact && kind != OBJECT_OTHER && kind != OBJECT_TYPE;
    if (type)
        snprintf(type, OBJECT_TYPE_NAME, "%s", object.type->name);
    if (kind == OBJECT_OTHER || kind == OBJECT_CELL) {
        char about[TENSOR_TEXT_ROOM] = "";
        const bool is_tensor = tensor_text(w->reader, &object, about);
        put(w, "<%s %s%sat 0x%" PRIx64 ">", object.type->name, about, is_tensor ? " " : "",
            address);
        return;
    }
    if (is_derived)
        put(w, "%s(", object.type->name);
    put_kind(w, &object, kind);
    if (is_derived)
        put(w, ")");
}

void object_text(struct object_reader *reader, uint64_t address, char *out, char *type)
{
    struct writing w = {.reader = reader, .out = out};
    *out = *type = '\0';
    put_value(&w, address, type);
}
