// SPDX-License-Identifier: Apache-2.0
// One word an input: `f32[8,16]{16,1}` a tensor, `(f32[8] f32[4])` a list of
// them, `s` or `s3` a scalar, `S` or `S[1,1]` a list of scalars, `?` a tensor
// nobody looked at, `-` anything else. What is no word of these reads as `-`.
#include "export/pt/pt_inputs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/utf8.h"
#include "export/number_text.h"

#define MAX_KEPT 65536u
#define MAX_KEPT_BYTES (64u << 20)
#define MAX_TEXT_BYTES ((size_t)16 << 20)
#define MAX_DIMS 64

static const struct type_name {
    const char *own, *torchs;
} type_names[] = {
    {"f32", "float"},
    {"f64", "double"},
    {"f16", "c10::Half"},
    {"bf16", "c10::BFloat16"},
    {"i64", "long int"},
    {"i32", "int"},
    {"i16", "short int"},
    {"i8", "signed char"},
    {"u8", "unsigned char"},
    {"bool", "bool"},
    {"u16", "short unsigned int"},
    {"u32", "unsigned int"},
    {"u64", "long unsigned int"},
    {"f8e5", "c10::Float8_e5m2"},
    {"f8e4", "c10::Float8_e4m3fn"},
    {"c32", "c10::complex<c10::Half>"},
    {"c64", "c10::complex<float>"},
    {"c128", "c10::complex<double>"},
};

void pt_inputs_init(struct pt_inputs *inputs)
{
    *inputs = (struct pt_inputs){0};
    number_map_init(&inputs->known, MAX_KEPT);
    buffer_init(&inputs->scratch, MAX_TEXT_BYTES);
}

void pt_inputs_finish(struct pt_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free((void *)inputs->texts[i].text.bytes);
    free(inputs->texts);
    number_map_finish(&inputs->known);
    buffer_finish(&inputs->scratch);
    *inputs = (struct pt_inputs){0};
}

// --- words --------------------------------------------------------------------------

// The next word, the blanks of a list in it; an empty one at the end.
static struct slice next_word(struct slice *text)
{
    size_t count = 0;
    int depth = 0;
    while (text->count && text->bytes[0] == ' ') {
        text->bytes++;
        text->count--;
    }
    for (; count < text->count && (depth > 0 || text->bytes[count] != ' '); count++) {
        depth += text->bytes[count] == '(';
        depth -= text->bytes[count] == ')';
    }
    struct slice word = {text->bytes, count};
    text->bytes += count;
    text->count -= count;
    return word;
}

// Of `f32[8,16]{16,1}` what stands between these two, without them.
static struct slice between(struct slice word, char open, char close)
{
    const uint8_t *begin = memchr(word.bytes, open, word.count);
    const uint8_t *end = memchr(word.bytes, close, word.count);
    if (!begin || !end || end < begin)
        return (struct slice){0};
    return (struct slice){begin + 1, (size_t)(end - begin - 1)};
}

static bool is_tensor(struct slice word)
{
    return word.count > 2 && memchr(word.bytes, '[', word.count) && word.bytes[0] != 'S' &&
           word.bytes[0] != 's' && word.bytes[0] != '(';
}

static bool is_list(struct slice word)
{
    return word.count >= 2 && word.bytes[0] == '(' && word.bytes[word.count - 1] == ')';
}

static bool is_scalar(struct slice word)
{
    return word.count && (word.bytes[0] == 's' || word.bytes[0] == 'S');
}

static struct slice members_of(struct slice list)
{
    return (struct slice){list.bytes + 1, list.count - 2};
}

// --- what torch writes ----------------------------------------------------------------

static int put(struct buffer *out, const char *text)
{
    return buffer_append(out, text, strlen(text));
}

static int put_type(struct buffer *out, struct slice word)
{
    if (is_list(word))
        return put(out, "\"TensorList\"");
    if (is_scalar(word))
        return put(out, word.bytes[0] == 's' ? "\"Scalar\"" : "\"ScalarList\"");
    if (!is_tensor(word))
        return put(out, "\"\"");
    size_t count = (size_t)((const uint8_t *)memchr(word.bytes, '[', word.count) - word.bytes);
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        const struct type_name *type = &type_names[i];
        if (strlen(type->own) == count && memcmp(type->own, word.bytes, count) == 0)
            return buffer_printf(out, "\"%s\"", type->torchs);
    }
    return utf8_append_json(out, (const char *)word.bytes, count);
}

// Numbers with a blank behind each comma; what is none reads as 0.
static int put_numbers(struct buffer *out, struct slice numbers)
{
    int status = put(out, "[");
    for (bool is_first = true; numbers.count && !status; is_first = false) {
        const uint8_t *comma = memchr(numbers.bytes, ',', numbers.count);
        size_t count = comma ? (size_t)(comma - numbers.bytes) : numbers.count;
        if (!is_first)
            status = put(out, ", ");
        if (!status && number_is_json((const char *)numbers.bytes, count))
            status = buffer_append(out, numbers.bytes, count);
        else if (!status)
            status = put(out, "0");
        numbers.bytes += count + (comma != NULL);
        numbers.count -= count + (comma != NULL);
    }
    return status ? status : put(out, "]");
}

// Those of a tensor that lies in memory without gaps.
static int put_contiguous(struct buffer *out, struct slice sizes)
{
    int64_t all[MAX_DIMS], stride = 1;
    size_t count = 0;
    for (size_t i = 0; i < sizes.count && count < MAX_DIMS; i++) {
        all[count] = 0;
        for (; i < sizes.count && sizes.bytes[i] != ','; i++)
            all[count] = (int64_t)((uint64_t)all[count] * 10 + (sizes.bytes[i] - '0') % 10u);
        count++;
    }
    for (size_t i = count; i-- > 0;) {
        int64_t size = all[i];
        all[i] = stride;
        stride = (int64_t)((uint64_t)stride * (uint64_t)(size > 1 ? size : 1));
    }
    int status = put(out, "[");
    for (size_t i = 0; i < count && !status; i++)
        status = buffer_printf(out, "%s%lld", i ? ", " : "", (long long)all[i]);
    return status ? status : put(out, "]");
}

static int put_dims(struct buffer *out, struct slice word);

static int put_strides(struct buffer *out, struct slice word)
{
    if (!is_tensor(word))
        return put(out, "[]");
    if (memchr(word.bytes, '{', word.count))
        return put_numbers(out, between(word, '{', '}'));
    return put_contiguous(out, between(word, '[', ']'));
}

static int put_dims(struct buffer *out, struct slice word)
{
    if (!is_tensor(word))
        return put(out, "[]");
    return put_numbers(out, between(word, '[', ']'));
}

// Torch writes the values of numbers. Not all are on record, nor is whether a 1
// was True: so they are told where an op has none.
static int put_concrete(struct buffer *out, struct slice word)
{
    (void)word;
    return put(out, "\"\"");
}

typedef int put_word(struct buffer *out, struct slice word);

static int put_list(struct buffer *out, struct slice text, put_word *put_one, bool enters)
{
    int status = put(out, "[");
    bool is_first = true;
    for (struct slice word; !status && (word = next_word(&text)).count; is_first = false) {
        if (word.count == 3 && !memcmp(word.bytes, "...", 3))
            continue; // what is missing, it says
        if (!is_first)
            status = put(out, ", ");
        if (!status && enters && is_list(word))
            status = put_list(out, members_of(word), put_one, false);
        else if (!status)
            status = put_one(out, word);
    }
    return status ? status : put(out, "]");
}

static bool has_numbers(struct slice text)
{
    for (struct slice word; (word = next_word(&text)).count;) {
        if (is_scalar(word))
            return true;
    }
    return false;
}

int pt_inputs_append(struct buffer *out, const char *shapes, size_t bytes, bool has_strides)
{
    struct slice text = {(const uint8_t *)shapes, bytes};
    int status = GAIT_OK;
    if (!has_numbers(text)) {
        status = put(out, "\"Concrete Inputs\": ");
        if (!status)
            status = put_list(out, text, put_concrete, false);
        if (!status)
            status = put(out, ", ");
    }
    if (!status)
        status = put(out, "\"Input type\": ");
    if (!status)
        status = put_list(out, text, put_type, false);
    if (!status && has_strides) {
        status = put(out, ", \"Input Strides\": ");
        if (!status)
            status = put_list(out, text, put_strides, true);
    }
    if (!status)
        status = put(out, ", \"Input Dims\": ");
    return status ? status : put_list(out, text, put_dims, true);
}

// --- what is kept ---------------------------------------------------------------------

// Both texts in one piece of memory.
static int keep(struct pt_inputs *inputs, const char *shapes, size_t bytes)
{
    size_t count = inputs->scratch.used;
    int status = ARRAY_RESERVE(inputs->texts, inputs->capacity, inputs->count + 1, MAX_KEPT);
    uint8_t *both = status ? NULL : malloc(count + bytes + 1);
    if (!both)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory for a shape");
    memcpy(both, inputs->scratch.bytes, count);
    memcpy(both + count, shapes, bytes);
    inputs->texts[inputs->count++] = (struct pt_input){{both + count, bytes}, {both, count}};
    inputs->bytes += count + bytes;
    return number_map_put(&inputs->known, (uintptr_t)shapes, inputs->count);
}

int pt_inputs_find(struct pt_inputs *inputs, const char *shapes, size_t bytes,
                   struct slice *ret_text)
{
    inputs->scratch.used = 0;
    int status = pt_inputs_append(&inputs->scratch, shapes, bytes, inputs->has_strides);
    bool is_new = !number_map_get(&inputs->known, (uintptr_t)shapes);
    if (!status && is_new && inputs->count < MAX_KEPT && inputs->bytes < MAX_KEPT_BYTES)
        status = keep(inputs, shapes, bytes);
    *ret_text = (struct slice){inputs->scratch.bytes, inputs->scratch.used};
    return status;
}
