// SPDX-License-Identifier: Apache-2.0
// Data pages of version 1, which every reader has known for ten years. Levels and numbers of
// words are one bit-packed run, or one repeated value.
#include "export/parquet/parquet_column.h"

#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "export/parquet/thrift_writer.h"

enum {
    MOST_BYTES = 1 << 30,
    FIRST_WORDS = 256,
    LEVEL = 3, // of zstd
    PAGE_DATA = 0,
    PAGE_DICTIONARY = 2,
    ENCODING_PLAIN = 0,
    ENCODING_RLE = 3,
    ENCODING_RLE_DICTIONARY = 8,
};

void parquet_column_init(struct parquet_column *column, const struct parquet_kind *kind)
{
    *column = (struct parquet_column){.kind = kind};
    buffer_init(&column->values, MOST_BYTES);
    buffer_init(&column->present, MOST_BYTES);
    buffer_init(&column->indices, MOST_BYTES);
    buffer_init(&column->places, MOST_BYTES);
}

void parquet_column_finish(struct parquet_column *column)
{
    buffer_finish(&column->values);
    buffer_finish(&column->present);
    buffer_finish(&column->indices);
    buffer_finish(&column->places);
    hash_index_finish(&column->index);
}

// --- values ----------------------------------------------------------------------------

// Of a size known here, so that the copy is one instruction: a row is appended to in 40 places, and
// calls for each took an eighth of an export.
static inline int append_fixed(struct buffer *out, const void *value, size_t size)
{
    if (out->capacity - out->used < size)
        return buffer_append(out, value, size);
    memcpy(out->bytes + out->used, value, size);
    out->used += size;
    return GAIT_OK;
}

static int note_row(struct parquet_column *column, bool is_there)
{
    const uint8_t byte = is_there;
    column->rows++;
    column->nulls += !is_there;
    return column->kind->is_optional ? append_fixed(&column->present, &byte, 1) : GAIT_OK;
}

static int append_text(struct buffer *out, struct slice text)
{
    uint8_t bytes[4];
    bytes_put32(bytes, (uint32_t)text.count);
    int status = buffer_append(out, bytes, sizeof bytes);
    return status || !text.count ? status : buffer_append(out, text.bytes, text.count);
}

static bool is_word(const struct parquet_column *column, uint32_t number, struct slice text)
{
    const uint32_t place = bytes_get32(column->places.bytes + 4 * (size_t)number);
    const uint8_t *at = column->values.bytes + place;
    return bytes_get32(at) == text.count &&
           (!text.count || memcmp(at + 4, text.bytes, text.count) == 0);
}

static int find_word(struct parquet_column *column, struct slice text, uint32_t *ret_number)
{
    const uint32_t hash = (uint32_t)hash_bytes(text);
    uint8_t place[4];
    int status = hash_index_reserve(&column->index, FIRST_WORDS);
    if (status)
        return status;
    size_t at = hash_index_first(&column->index, hash);
    for (; column->index.places[at].row; at = hash_index_next(&column->index, at)) {
        *ret_number = column->index.places[at].row - 1;
        if (is_word(column, *ret_number, text))
            return GAIT_OK;
    }
    bytes_put32(place, (uint32_t)column->values.used);
    status = append_text(&column->values, text);
    if (!status)
        status = buffer_append(&column->places, place, sizeof place);
    if (status)
        return status;
    *ret_number = (uint32_t)column->words++;
    hash_index_put(&column->index, at, hash, *ret_number);
    return GAIT_OK;
}

int parquet_column_add(struct parquet_column *column, const void *value)
{
    int status = note_row(column, true);
    return status ? status : append_fixed(&column->values, value, 8);
}

int parquet_column_add_word(struct parquet_column *column, uint32_t word)
{
    int status = note_row(column, true);
    return status ? status : append_fixed(&column->indices, &word, sizeof word);
}

int parquet_column_add_text(struct parquet_column *column, struct slice text)
{
    uint32_t word = 0;
    int status = column->kind->has_words ? find_word(column, text, &word) : note_row(column, true);
    if (status)
        return status;
    return column->kind->has_words ? parquet_column_add_word(column, word)
                                   : append_text(&column->values, text);
}

uint32_t parquet_column_last_word(const struct parquet_column *column)
{
    uint32_t word;
    memcpy(&word, column->indices.bytes + column->indices.used - sizeof word, sizeof word);
    return word;
}

int parquet_column_add_none(struct parquet_column *column)
{
    return note_row(column, false);
}

// --- pages -----------------------------------------------------------------------------

static int append_varint(struct buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    return buffer_append(out, bytes, count);
}

// Numbers of `width` bits, `stride` bytes each in `numbers`, 1 or 4, as one bit-packed run.
static int append_packed(struct buffer *out, const struct buffer *numbers, size_t stride,
                         unsigned width)
{
    const size_t count = numbers->used / stride, groups = (count + 7) / 8;
    uint64_t bits = 0;
    unsigned held = 0;
    int status = append_varint(out, (uint64_t)groups << 1 | 1);
    uint8_t *at = status ? NULL : buffer_reserve(out, groups * width);
    if (!at)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory for a page of a column");
    for (size_t i = 0; i < groups * 8; i++) {
        uint32_t number = 0;
        if (i < count && stride == 1)
            number = numbers->bytes[i];
        else if (i < count)
            memcpy(&number, numbers->bytes + i * sizeof number, sizeof number);
        bits |= (uint64_t)number << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8)
            *at++ = (uint8_t)bits;
    }
    out->used += groups * width;
    return GAIT_OK;
}

// Which rows are there; one repeated value where all are, or none.
static int append_levels(const struct parquet_column *column, struct buffer *page)
{
    uint8_t size[4] = {0};
    const size_t begin = page->used;
    if (!column->kind->is_optional)
        return GAIT_OK;
    int status = buffer_append(page, size, sizeof size);
    if (!status && column->nulls && column->nulls < column->rows) {
        status = append_packed(page, &column->present, 1, 1);
    } else if (!status) {
        const uint8_t value = !column->nulls;
        status = append_varint(page, (uint64_t)column->rows << 1);
        if (!status)
            status = buffer_append(page, &value, 1);
    }
    if (!status)
        bytes_put32(page->bytes + begin, (uint32_t)(page->used - begin - sizeof size));
    return status;
}

static int append_indices(const struct parquet_column *column, struct buffer *page)
{
    uint8_t width = 1;
    while (width < 32 && column->words > (size_t)1 << width)
        width++;
    int status = buffer_append(page, &width, 1);
    return status ? status : append_packed(page, &column->indices, 4, width);
}

struct page_about {
    int32_t type, values, encoding;
};

static void put_header(struct thrift_writer *header, const struct page_about *about, size_t plain,
                       size_t packed)
{
    thrift_put_i32(header, 1, about->type);
    thrift_put_i32(header, 2, (int32_t)plain);
    thrift_put_i32(header, 3, (int32_t)packed);
    thrift_begin_struct(header, about->type == PAGE_DATA ? 5 : 7);
    thrift_put_i32(header, 1, about->values);
    thrift_put_i32(header, 2, about->encoding);
    if (about->type == PAGE_DATA) {
        thrift_put_i32(header, 3, ENCODING_RLE);
        thrift_put_i32(header, 4, ENCODING_RLE);
    }
    thrift_end(header);
    thrift_end(header);
}

// The header says how long the packed page is, and stands in front of it.
static int append_page(struct buffer *out, const struct buffer *page,
                       const struct page_about *about, struct parquet_chunk *chunk)
{
    struct thrift_writer header = {.out = out};
    struct buffer packed;
    const size_t before = out->used;
    buffer_init(&packed, MOST_BYTES);
    const size_t room = ZSTD_compressBound(page->used);
    uint8_t *at = buffer_reserve(&packed, room);
    size_t count = at ? ZSTD_compress(at, room, page->bytes, page->used, LEVEL) : 0;
    int status = at && !ZSTD_isError(count)
                     ? GAIT_OK
                     : fail(GAIT_ERR_MEMORY, "no memory to pack a page of a column");
    if (!status) {
        put_header(&header, about, page->used, count);
        status = header.status;
    }
    chunk->plain_bytes += (int64_t)(out->used - before + page->used);
    if (!status)
        status = buffer_append(out, packed.bytes, count);
    buffer_finish(&packed);
    return status;
}

static int write_pages(struct parquet_column *column, struct buffer *out, int64_t at,
                       struct parquet_chunk *chunk)
{
    const bool has_words = column->kind->has_words;
    const struct page_about words = {PAGE_DICTIONARY, (int32_t)column->words, ENCODING_PLAIN};
    const struct page_about data = {PAGE_DATA, (int32_t)column->rows,
                                    has_words ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN};
    const size_t before = out->used;
    struct buffer page;
    int status = GAIT_OK;
    buffer_init(&page, MOST_BYTES);
    if (has_words) {
        chunk->dictionary_at = at;
        status = append_page(out, &column->values, &words, chunk);
    }
    chunk->data_at = at + (int64_t)(out->used - before);
    if (!status)
        status = append_levels(column, &page);
    if (!status && has_words)
        status = append_indices(column, &page);
    else if (!status && column->values.used)
        status = buffer_append(&page, column->values.bytes, column->values.used);
    if (!status)
        status = append_page(out, &page, &data, chunk);
    chunk->packed_bytes = (int64_t)(out->used - before);
    buffer_finish(&page);
    return status;
}

int parquet_column_write(struct parquet_column *column, struct buffer *out, int64_t at,
                         struct parquet_chunk *ret_chunk)
{
    struct parquet_chunk chunk = {.rows = (int64_t)column->rows};
    int status = write_pages(column, out, at, &chunk);
    if (status)
        return status;
    *ret_chunk = chunk;
    column->values.used = column->present.used = 0;
    column->indices.used = column->places.used = 0;
    column->rows = column->nulls = column->words = 0;
    hash_index_clear(&column->index);
    return GAIT_OK;
}
