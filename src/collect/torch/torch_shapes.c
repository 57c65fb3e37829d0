// SPDX-License-Identifier: Apache-2.0
// An op of a training comes again with the same shapes, step after step: so they
// are hashed where they lie, and the text is made when a hash is new to the
// thread.
//
// Sizes are asked of torch's stable C functions, never read from the tensor. On
// tensors with Python behind them, nested or symbolic ones the question would run
// code, so those are told by their dispatch keys first and left alone.
#include "collect/torch/torch_shapes.h"

#include <gait/record.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_thread.h"
#include "collect/torch/torch_values.h"
#include "record/name_table.h"

#define INPUTS_MAX 64
#define DIMS_MAX 64
#define LIST_MAX 1024   // tensors of a list that are looked at
#define VALUES_MAX 30   // torch.profiler, too, takes longer lists of numbers for none
#define TEXT_BYTES 4096 // an optimizer's op has lists of hundreds
#define LISTS_BYTES 3072
#define DTYPES 64
#define NAMES_ROOM (1u << 15) // of the recorder's texts, left for names
#define TEXTS_MAX (NAME_TABLE_MAX_STRINGS - NAMES_ROOM)

// What each tensor needs, in one line.
static struct {
    int32_t (*get_dim)(const void *, int64_t *);
    int32_t (*get_sizes)(const void *, int64_t **);
    int32_t (*get_dtype)(const void *, int32_t *);
    const void *undefined;
    uint64_t avoided;
    int inputs, tensor_tag, keys;
    bool has_strides;
    struct torch_value_tags tags;
} hot __attribute__((aligned(64)));

static struct {
    char dtypes[DTYPES][16];
    bool is_guarded;
    bool is_full; // no more texts
    uint64_t lost;
} shapes;

static const struct dtype_name {
    const char *symbol, *text;
} dtype_names[] = {
    {"aoti_torch_dtype_float32", "f32"},      {"aoti_torch_dtype_float64", "f64"},
    {"aoti_torch_dtype_float16", "f16"},      {"aoti_torch_dtype_bfloat16", "bf16"},
    {"aoti_torch_dtype_float8_e5m2", "f8e5"}, {"aoti_torch_dtype_float8_e4m3fn", "f8e4"},
    {"aoti_torch_dtype_uint8", "u8"},         {"aoti_torch_dtype_int8", "i8"},
    {"aoti_torch_dtype_uint16", "u16"},       {"aoti_torch_dtype_int16", "i16"},
    {"aoti_torch_dtype_uint32", "u32"},       {"aoti_torch_dtype_int32", "i32"},
    {"aoti_torch_dtype_uint64", "u64"},       {"aoti_torch_dtype_int64", "i64"},
    {"aoti_torch_dtype_bool", "bool"},        {"aoti_torch_dtype_complex32", "c32"},
    {"aoti_torch_dtype_complex64", "c64"},    {"aoti_torch_dtype_complex128", "c128"},
};

void torch_shapes_init(void)
{
    hot.get_dim = torch_library.get_dim;
    hot.get_sizes = torch_library.get_sizes;
    hot.get_dtype = torch_library.get_dtype;
    memcpy(&hot.undefined, &torch_library.undefined_tensor, sizeof(hot.undefined));
    hot.inputs = torch_layout[FIELD_INPUTS].place;
    hot.tensor_tag = torch_layout[FIELD_TENSOR_TAG].place;
    hot.tags = torch_values_tags();
    for (int i = 0; i < DTYPES; i++) {
        snprintf(shapes.dtypes[i], sizeof(shapes.dtypes[i]), "t%u", i & 0xffu);
    }
    for (size_t i = 0; i < sizeof(dtype_names) / sizeof(dtype_names[0]); i++) {
        int32_t (*number)(void);
        void *address = torch_library_lookup(dtype_names[i].symbol);
        if (!address)
            continue;
        memcpy(&number, &address, sizeof(number));
        const int32_t dtype = number();
        if (dtype >= 0 && dtype < DTYPES)
            snprintf(shapes.dtypes[dtype], sizeof(shapes.dtypes[dtype]), "%s", dtype_names[i].text);
    }
}

void torch_shapes_avoid(uint64_t keys)
{
    hot.keys = torch_layout[FIELD_KEYS].place;
    hot.avoided = keys;
    shapes.is_guarded = true;
}

bool torch_shapes_can(void)
{
    return shapes.is_guarded && torch_layout_has(FIELD_KEYS) && torch_layout_has(FIELD_INPUTS) &&
           torch_layout_has(FIELD_TENSOR_TAG);
}

void torch_shapes_set_strides(bool is_on)
{
    hot.has_strides = is_on && torch_library.get_strides;
}

uint64_t torch_shapes_lost(void)
{
    return __atomic_load_n(&shapes.lost, __ATOMIC_RELAXED);
}

// --- one tensor ---------------------------------------------------------------------

enum tensor_kind { TENSOR_NONE, TENSOR_HIDDEN, TENSOR_SEEN };

static inline bool is_tensor(const char *input)
{
    return torch_half_at(input, TORCH_IVALUE_TAG) == (uint32_t)hot.tensor_tag;
}

struct tensor {
    int64_t dims;
    const int64_t *sizes, *strides; // no strides where they follow from the sizes
    int32_t dtype;
};

// As torch counts: also where a size of 1 makes no difference to where things are.
static bool is_contiguous(const struct tensor *tensor)
{
    int64_t stride = 1;
    for (int64_t i = tensor->dims - 1; i >= 0; i--) {
        if (tensor->strides[i] != stride)
            return false;
        stride *= tensor->sizes[i] > 1 ? tensor->sizes[i] : 1;
    }
    return true;
}

static void look_at_strides(const char *input, struct tensor *tensor)
{
    int64_t *strides = NULL;
    if (torch_library.get_strides(input, &strides))
        return;
    tensor->strides = strides;
    if (is_contiguous(tensor))
        tensor->strides = NULL;
}

static inline enum tensor_kind look_at(const char *input, struct tensor *tensor)
{
    int64_t *sizes = NULL;
    if (!is_tensor(input))
        return TENSOR_NONE;
    const void *impl = (const void *)(uintptr_t)torch_word_at(input, 0);
    if (!impl || impl == hot.undefined)
        return TENSOR_NONE;
    if (torch_word_at(impl, hot.keys) & hot.avoided)
        return TENSOR_HIDDEN;
    if (hot.get_dim(input, &tensor->dims) || hot.get_sizes(input, &sizes) ||
        hot.get_dtype(input, &tensor->dtype) || (uint64_t)tensor->dims > DIMS_MAX)
        return TENSOR_HIDDEN;
    tensor->sizes = sizes;
    tensor->strides = NULL;
    if (__builtin_expect(hot.has_strides, 0))
        look_at_strides(input, tensor);
    return TENSOR_SEEN;
}

// --- one argument -------------------------------------------------------------------

enum kind { OTHER, TENSOR, NUMBER, NUMBERS, TENSORS };

struct argument {
    const char *value, *items;
    size_t count; // of items
    enum kind kind;
    enum torch_value_kind number; // of the value, or of the items
};

static inline enum torch_value_kind kind_of(const char *value)
{
    return torch_value_kind(&hot.tags, torch_half_at(value, TORCH_IVALUE_TAG));
}

static void look_into(struct argument *argument)
{
    argument->items = torch_value_items(&hot.tags, argument->value, &argument->count);
    argument->kind = NUMBERS;
    if (!argument->count)
        return;
    if (is_tensor(argument->items)) {
        argument->kind = TENSORS;
        return;
    }
    argument->number = kind_of(argument->items);
    if (argument->number == TORCH_VALUE_OTHER || argument->number == TORCH_VALUE_LIST ||
        argument->count > VALUES_MAX)
        argument->kind = OTHER;
}

static inline struct argument argument_of(const char *value)
{
    struct argument argument = {.value = value, .kind = TENSOR};
    if (is_tensor(value))
        return argument;
    argument.number = kind_of(value);
    argument.kind = argument.number == TORCH_VALUE_OTHER ? OTHER : NUMBER;
    if (argument.number == TORCH_VALUE_LIST)
        look_into(&argument);
    return argument;
}

static inline uint64_t number_of(const char *value, enum torch_value_kind kind)
{
    return kind == TORCH_VALUE_BOOL ? torch_byte_at(value, 0) : torch_word_at(value, 0);
}

// --- the hash -----------------------------------------------------------------------

static inline uint64_t add_tensor(uint64_t hash, const char *value)
{
    struct tensor tensor;
    const enum tensor_kind kind = look_at(value, &tensor);
    if (kind != TENSOR_SEEN)
        return torch_mix(hash, (uint64_t)kind);
    hash = torch_mix(hash, (uint64_t)(uint32_t)tensor.dtype << 32 | (uint64_t)tensor.dims << 8 |
                               (uint64_t)kind << 1 | (tensor.strides != NULL));
    for (int64_t i = 0; i < tensor.dims; i++) {
        hash = torch_mix(hash, (uint64_t)tensor.sizes[i]);
        if (tensor.strides)
            hash = torch_mix(hash, (uint64_t)tensor.strides[i]);
    }
    return hash;
}

static uint64_t add_items(uint64_t hash, const struct argument *argument, bool has_values)
{
    const size_t count = argument->count < LIST_MAX ? argument->count : LIST_MAX;
    hash = torch_mix(hash, (uint64_t)argument->count << 3 | (uint64_t)argument->kind);
    for (size_t i = 0; i < count; i++) {
        const char *item = argument->items + i * TORCH_IVALUE_BYTES;
        if (argument->kind == TENSORS)
            hash = add_tensor(hash, item);
        else if (has_values)
            hash = torch_mix(hash, number_of(item, argument->number));
    }
    return hash;
}

static uint64_t add_argument(uint64_t hash, const char *value, bool has_values)
{
    const struct argument argument = argument_of(value);
    if (argument.kind >= NUMBERS)
        return add_items(hash, &argument, has_values);
    return has_values && argument.kind == NUMBER
               ? torch_mix(hash, number_of(value, argument.number))
               : hash;
}

// The tags of all arguments are one number, mixed in at the end: most arguments
// are no tensors, and a multiplication for each would be half of what all this costs.
static inline uint64_t hash_of(const char *inputs, size_t count, bool has_values)
{
    uint64_t hash = has_values, tags = count;
    for (size_t i = 0; i < count; i++) {
        const char *value = inputs + i * TORCH_IVALUE_BYTES;
        const uint32_t tag = torch_half_at(value, TORCH_IVALUE_TAG);
        tags = tags * 31 + tag;
        if (tag == (uint32_t)hot.tensor_tag)
            hash = add_tensor(hash, value);
        else if (has_values || tag == hot.tags.list)
            hash = add_argument(hash, value, has_values);
    }
    return torch_mix(hash, tags);
}

// --- the text -----------------------------------------------------------------------

struct text {
    char bytes[TEXT_BYTES];
    size_t used;
};

// What does not fit is left out; the text then ends in "...".
__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    const size_t room = sizeof(text->bytes) - 4 - text->used;
    va_list args;
    va_start(args, format);
    const int wanted = vsnprintf(text->bytes + text->used, room, format, args);
    va_end(args);
    if (wanted >= 0 && (size_t)wanted < room)
        text->used += (size_t)wanted;
    else if (text->used < sizeof(text->bytes) - 4)
        memcpy(text->bytes + text->used, "...", 4);
}

static void put_numbers(struct text *text, char open, const int64_t *numbers, int64_t count)
{
    put(text, "%c", open);
    for (int64_t i = 0; i < count; i++) {
        put(text, i ? ",%lld" : "%lld", (long long)numbers[i]);
    }
    put(text, "%c", open == '[' ? ']' : '}');
}

static void put_tensor(struct text *text, enum tensor_kind kind, const struct tensor *tensor)
{
    if (kind == TENSOR_HIDDEN) {
        put(text, "?");
        return;
    }
    if (tensor->dtype >= 0 && tensor->dtype < DTYPES)
        put(text, "%s", shapes.dtypes[tensor->dtype]);
    else
        put(text, "t%d", (int)tensor->dtype);
    put_numbers(text, '[', tensor->sizes, tensor->dims);
    if (tensor->strides)
        put_numbers(text, '{', tensor->strides, tensor->dims);
}

static void put_tensor_of(struct text *text, const char *value)
{
    struct tensor tensor;
    const enum tensor_kind kind = look_at(value, &tensor);
    if (kind == TENSOR_NONE)
        put(text, "-");
    else
        put_tensor(text, kind, &tensor);
}

// A list of tensors that is too long ends in "..." inside its parentheses, so
// that what follows it has its place.
static void put_tensors(struct text *text, const struct argument *argument)
{
    put(text, "(");
    for (size_t i = 0; i < argument->count; i++) {
        if (i)
            put(text, " ");
        if (text->used > LISTS_BYTES || i == LIST_MAX) {
            put(text, "...");
            break;
        }
        put_tensor_of(text, argument->items + i * TORCH_IVALUE_BYTES);
    }
    put(text, ")");
}

static void put_values(struct text *text, const struct argument *argument)
{
    const bool is_list = argument->kind == NUMBERS;
    const size_t count = is_list ? argument->count : 1;
    if (argument->number == TORCH_VALUE_REAL)
        return;
    if (is_list)
        put(text, "[");
    for (size_t i = 0; i < count; i++) {
        const char *value = is_list ? argument->items + i * TORCH_IVALUE_BYTES : argument->value;
        put(text, i ? ",%lld" : "%lld", (long long)number_of(value, argument->number));
    }
    if (is_list)
        put(text, "]");
}

static void put_argument(struct text *text, const char *value, bool has_values)
{
    static const char *const words[] = {[OTHER] = "-", [NUMBER] = "s", [NUMBERS] = "S"};
    const struct argument argument = argument_of(value);
    if (argument.kind == TENSOR) {
        put_tensor_of(text, value);
    } else if (argument.kind == TENSORS) {
        put_tensors(text, &argument);
    } else {
        put(text, "%s", words[argument.kind]);
        if (has_values && argument.kind != OTHER)
            put_values(text, &argument);
    }
}

__attribute__((noinline, cold)) static uint32_t intern_text(const char *inputs, size_t count,
                                                            bool has_values)
{
    struct text text = {.used = 0};
    if (__atomic_load_n(&shapes.is_full, __ATOMIC_RELAXED)) {
        __atomic_add_fetch(&shapes.lost, 1, __ATOMIC_RELAXED);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (i)
            put(&text, " ");
        put_argument(&text, inputs + i * TORCH_IVALUE_BYTES, has_values);
    }
    const uint32_t id = gait_key(text.bytes);
    if (id > TEXTS_MAX || !id)
        __atomic_store_n(&shapes.is_full, true, __ATOMIC_RELAXED);
    return id;
}

uint32_t torch_shapes_of(struct torch_thread *thread, const void *function, bool has_values)
{
    const char *inputs = (const char *)(uintptr_t)torch_word_at(function, hot.inputs);
    size_t count = torch_word_at(function, hot.inputs + 8);
    if (!count)
        return 0;
    if (count > INPUTS_MAX)
        count = INPUTS_MAX;
    const uint64_t hash = hash_of(inputs, count, has_values);
    struct torch_set *set = &thread->shapes[hash % TORCH_SHAPE_SETS];
    const struct torch_known *known = torch_set_find(set, hash);
    if (known)
        return known->id;
    const uint32_t id = intern_text(inputs, count, has_values);
    torch_set_add(set, hash, id);
    return id;
}
