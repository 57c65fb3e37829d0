// SPDX-License-Identifier: Apache-2.0
// Up to 3.10 each object has a dict. From 3.11 it has none before somebody asks for it:
// the class keeps the names, the object an array of values, and a word in front of the
// object leads to either.
#include "sample/cpython/object_attribute.h"

#define FLAG_INLINE_VALUES (UINT64_C(1) << 2) // of tp_flags, from 3.13 on
#define FLAG_MANAGED_DICT (UINT64_C(1) << 4)  // from 3.11 on

enum { OBJECT_MOST = 4096 }; // bytes; a class whose objects are larger is not believed

static uint64_t word_at(struct object_reader *reader, uint64_t address)
{
    uint64_t word = 0;
    return object_get(reader, address, &word, sizeof word) ? word : 0;
}

static bool begin_dict(struct dict_walk *walk, struct object_reader *reader, uint64_t dict)
{
    struct object object;
    return dict && object_read(reader, dict, &object) && object.type->kind == OBJECT_DICT &&
           dict_walk_begin(walk, reader, &object);
}

// Where the values lie, 0 if they are in a dict, whose address goes to `ret_dict`.
static uint64_t find_values(struct object_reader *reader, const struct object *object,
                            uint64_t flags, uint64_t *ret_dict)
{
    const struct layout *layout = reader->layout;
    const uint64_t type = object_word(object, layout->object_type);
    const uint64_t dict = word_at(reader, object->address - (uint64_t)layout->managed_dict);
    *ret_dict = dict;
    if (layout->managed_values == layout->managed_dict) // an odd word is one before the values
        return dict & 1 ? dict + 1 : 0;
    if (layout->managed_values >= 0)
        return word_at(reader, object->address - (uint64_t)layout->managed_values);
    const uint64_t size = word_at(reader, type + (uint64_t)layout->type_basic_size);
    uint8_t is_valid = 0;
    const uint64_t values = object->address + size;
    if (dict || !(flags & FLAG_INLINE_VALUES) || size > OBJECT_MOST ||
        !object_get(reader, values + (uint64_t)layout->values_valid, &is_valid, sizeof is_valid))
        return 0;
    return is_valid ? values : 0;
}

static bool begin(struct dict_walk *walk, struct object_reader *reader, const struct object *object)
{
    const struct layout *layout = reader->layout;
    const uint64_t type = object_word(object, layout->object_type);
    const uint64_t flags = word_at(reader, type + (uint64_t)layout->type_flags);
    if (layout->managed_dict < 0 || !(flags & FLAG_MANAGED_DICT)) {
        const uint64_t offset = word_at(reader, type + (uint64_t)layout->type_dict_offset);
        return offset && offset < OBJECT_MOST &&
               begin_dict(walk, reader, word_at(reader, object->address + offset));
    }
    uint64_t dict;
    const uint64_t values = find_values(reader, object, flags, &dict);
    if (!values)
        return begin_dict(walk, reader, dict);
    const uint64_t keys = word_at(reader, type + (uint64_t)layout->type_keys);
    return dict_walk_places(walk, reader, keys, values);
}

uint64_t object_attribute(struct object_reader *reader, const struct object *object,
                          const char *name)
{
    struct dict_walk walk;
    return begin(&walk, reader, object) ? dict_walk_find(&walk, name) : 0;
}
