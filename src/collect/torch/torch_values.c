// SPDX-License-Identifier: Apache-2.0
// full([3, 5], 7) has a list of two ints and an int: the int's tag is known by
// its value, the list is an object in which two pointers enclose two such values,
// 3 and 5. Other tags are known by their values, too.
#include "collect/torch/torch_values.h"

#include <string.h>

#include "collect/torch/torch_library.h"

#define NO_TAG UINT32_MAX
#define LIST_BYTES 64 // of a list that are looked at; it has some 40

static const uint64_t first_item = 3, second_item = 5, known_int = 7;
static const double known_real = 7.25;

static _Thread_local bool is_looking;

void torch_values_begin(void)
{
    static const enum torch_field fields[] = {FIELD_INT_TAG,  FIELD_DOUBLE_TAG, FIELD_COMPLEX_TAG,
                                              FIELD_BOOL_TAG, FIELD_LIST_TAG,   FIELD_LIST};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        torch_layout[fields[i]] = (struct torch_found){.place = -1};
    is_looking = true;
}

void torch_values_end(void)
{
    is_looking = false;
    for (int field = FIELD_INT_TAG; field <= FIELD_LIST; field++)
        torch_layout_decide((enum torch_field)field);
}

// The same number again is no second match.
static void note_tag(enum torch_field field, uint32_t tag)
{
    if (!torch_layout[field].matches || torch_layout[field].place != (int)tag)
        torch_layout_note(field, (int)tag);
}

static bool is_known_list(uint64_t first, uint64_t end, uint32_t tag)
{
    const char *items = (const char *)(uintptr_t)first;
    return first && end - first == 2 * (uint64_t)TORCH_IVALUE_BYTES &&
           torch_word_at(items, 0) == first_item && torch_half_at(items, TORCH_IVALUE_TAG) == tag &&
           torch_word_at(items, TORCH_IVALUE_BYTES) == second_item &&
           torch_half_at(items, TORCH_IVALUE_BYTES + TORCH_IVALUE_TAG) == tag;
}

static void see_full(const char *list, const char *value)
{
    const uint32_t tag = torch_half_at(value, TORCH_IVALUE_TAG);
    const uint64_t payload = torch_word_at(value, 0);
    uint64_t real;
    memcpy(&real, &known_real, sizeof real);
    if (payload == real)
        note_tag(FIELD_DOUBLE_TAG, tag);
    else if (payload != known_int)
        note_tag(FIELD_COMPLEX_TAG, tag);
    if (payload != known_int)
        return;
    note_tag(FIELD_INT_TAG, tag);
    const char *object = (const char *)(uintptr_t)torch_word_at(list, 0);
    for (int at = 0; object && at + 16 <= LIST_BYTES; at += 8) {
        if (!is_known_list(torch_word_at(object, at), torch_word_at(object, at + 8), tag))
            continue;
        note_tag(FIELD_LIST_TAG, torch_half_at(list, TORCH_IVALUE_TAG));
        torch_layout_note(FIELD_LIST, at);
    }
}

void *torch_values_see(void **context, const void *function)
{
    const int place = torch_layout[FIELD_INPUTS].place;
    *context = NULL;
    if (!is_looking)
        return context;
    const char *name = torch_library.name_of(function);
    const char *inputs = (const char *)(uintptr_t)torch_word_at(function, place);
    const uint64_t count = torch_word_at(function, place + 8);
    if (!name)
        return context;
    if (strcmp(name, "aten::full") == 0 && count >= 2)
        see_full(inputs, inputs + TORCH_IVALUE_BYTES);
    const char *third = inputs + 2 * (size_t)TORCH_IVALUE_BYTES;
    if (strcmp(name, "aten::sum") == 0 && count >= 3 && torch_byte_at(third, 0) == 1)
        note_tag(FIELD_BOOL_TAG, torch_half_at(third, TORCH_IVALUE_TAG));
    return context;
}

void torch_values_see_end(const void *function, void *context)
{
    (void)function;
    (void)context;
}

static uint32_t tag_of(enum torch_field field)
{
    return torch_layout_has(field) ? (uint32_t)torch_layout[field].place : NO_TAG;
}

struct torch_value_tags torch_values_tags(void)
{
    struct torch_value_tags tags = {
        .integer = tag_of(FIELD_INT_TAG),
        .boolean = tag_of(FIELD_BOOL_TAG),
        .real = tag_of(FIELD_DOUBLE_TAG),
        .complex = tag_of(FIELD_COMPLEX_TAG),
        .list = torch_layout_has(FIELD_LIST) ? tag_of(FIELD_LIST_TAG) : NO_TAG,
        .items = torch_layout[FIELD_LIST].place,
    };
    return tags;
}
