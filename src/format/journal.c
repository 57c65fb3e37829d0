// SPDX-License-Identifier: Apache-2.0
// Journal entries and their way into frames. An entry: u32 bytes in all (a
// multiple of 8), u8 table, u8 numbers, u8 texts, u8 zero; the numbers, 8 bytes
// each; for each text u32 length and its bytes; zeros to a multiple of 8.
#include "format/journal.h"

#include <string.h>

#include "base/fail.h"

#define ENTRY_HEAD_BYTES 8
#define ROWS_A_FRAME 256
#define BYTES_A_FRAME (1u << 20) // and one row more: far below what a frame may hold

size_t journal_row_bytes(const struct journal_row *row)
{
    size_t bytes = ENTRY_HEAD_BYTES + row->number_count * sizeof(uint64_t);
    for (uint32_t i = 0; i < row->text_count; i++) {
        bytes += sizeof(uint32_t) + row->texts[i].count;
    }
    return (bytes + 7) & ~(size_t)7;
}

void journal_row_write(const struct journal_row *row, uint8_t *out)
{
    size_t bytes = journal_row_bytes(row);
    uint32_t total = (uint32_t)bytes;
    memset(out, 0, bytes);
    memcpy(out, &total, sizeof(total));
    out[4] = (uint8_t)row->table;
    out[5] = (uint8_t)row->number_count;
    out[6] = (uint8_t)row->text_count;
    out += ENTRY_HEAD_BYTES;
    memcpy(out, row->numbers, row->number_count * sizeof(uint64_t));
    out += row->number_count * sizeof(uint64_t);
    for (uint32_t i = 0; i < row->text_count; i++) {
        uint32_t length = (uint32_t)row->texts[i].count;
        memcpy(out, &length, sizeof(length));
        if (length)
            memcpy(out + sizeof(length), row->texts[i].bytes, length);
        out += sizeof(length) + length;
    }
}

static int read_texts(const uint8_t *at, const uint8_t *end, struct journal_row *row)
{
    for (uint32_t i = 0; i < row->text_count; i++) {
        uint32_t length;
        if ((size_t)(end - at) < sizeof(length))
            return fail(GAIT_ERR_FORMAT, "journal entry ends inside a text");
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        if ((size_t)(end - at) < length)
            return fail(GAIT_ERR_FORMAT, "journal text of %u bytes ends past its entry", length);
        row->texts[i] = (struct slice){at, length};
        at += length;
    }
    return 0;
}

// Takes the next row off the front of `entries`: 1 and a row that borrows, 0
// at the end, GAIT_ERR_FORMAT on nonsense.
static int next_row(struct slice *entries, struct journal_row *ret_row)
{
    uint32_t total;
    const uint8_t *at = entries->bytes;
    if (entries->count == 0)
        return 0;
    if (entries->count < ENTRY_HEAD_BYTES)
        return fail(GAIT_ERR_FORMAT, "journal ends inside an entry");
    memcpy(&total, at, sizeof(total));
    struct journal_row row = {(enum table_id)at[4], at[5], at[6], {0}, {{0}}};
    size_t numbers_bytes = row.number_count * sizeof(uint64_t);
    if (total > entries->count || total % 8 || total < ENTRY_HEAD_BYTES + numbers_bytes ||
        row.number_count > JOURNAL_MAX_NUMBERS || row.text_count > JOURNAL_MAX_TEXTS)
        return fail(GAIT_ERR_FORMAT, "journal entry of %u bytes is invalid", total);
    memcpy(row.numbers, at + ENTRY_HEAD_BYTES, numbers_bytes);
    int status = read_texts(at + ENTRY_HEAD_BYTES + numbers_bytes, at + total, &row);
    if (status)
        return status;
    entries->bytes += total;
    entries->count -= total;
    *ret_row = row;
    return 1;
}

static bool is_text_column(enum column_type type)
{
    return type == COLUMN_BYTES || type == COLUMN_JSON || type == COLUMN_ARGS;
}

// Writes rows of one table: the n-th number (text) column takes numbers[n].
static int write_rows(const struct journal_row *rows, uint32_t count, struct table_writer *writer)
{
    const struct table_schema *schema = schema_table(rows[0].table);
    uint64_t numbers[ROWS_A_FRAME];
    struct slice texts[ROWS_A_FRAME];
    uint32_t next_number = 0, next_text = 0;
    struct table_about about = {0};

    if (!schema)
        return fail(GAIT_ERR_FORMAT, "journal names table %d, which does not exist", rows[0].table);
    table_begin(writer, rows[0].table, 0, count);
    for (uint16_t column = 0; column < schema->column_count; column++) {
        bool is_text = is_text_column(schema->columns[column].type);
        if (is_text ? next_text >= rows[0].text_count : next_number >= rows[0].number_count)
            continue;
        for (uint32_t i = 0; i < count; i++) {
            if (is_text)
                texts[i] = rows[i].texts[next_text];
            else
                numbers[i] = rows[i].numbers[next_number];
        }
        if (is_text)
            table_put_bytes(writer, column, texts);
        else
            table_put(writer, column, TRANSFORM_NONE, numbers);
        next_text += is_text;
        next_number += !is_text;
    }
    return table_end(writer, &about, NULL);
}

static bool fits_together(const struct journal_row *a, const struct journal_row *b)
{
    return a->table == b->table && a->number_count == b->number_count &&
           a->text_count == b->text_count;
}

int journal_write_row(const struct journal_row *row, struct table_writer *writer)
{
    return write_rows(row, 1, writer);
}

// All rows of one table, in as few frames as they fit.
static int write_table(struct slice entries, enum table_id table, struct table_writer *writer)
{
    struct journal_row rows[ROWS_A_FRAME] = {{0}};
    struct journal_row row = {0};
    uint32_t count = 0;
    size_t bytes = 0;
    int status;

    while ((status = next_row(&entries, &row)) > 0) {
        if (row.table != table)
            continue;
        if (count == ROWS_A_FRAME || bytes > BYTES_A_FRAME ||
            (count && !fits_together(&rows[0], &row))) {
            if ((status = write_rows(rows, count, writer)))
                return status;
            count = 0;
            bytes = 0;
        }
        rows[count++] = row;
        bytes += journal_row_bytes(&row);
    }
    if (status == 0 && count)
        status = write_rows(rows, count, writer);
    return status;
}

// The tables that occur, up to the first entry that makes no sense: what stands
// before it is cut out for writing.
static int find_tables(struct slice *entries, uint32_t *ret_tables)
{
    struct slice rest = *entries;
    struct journal_row row = {0};
    int status;

    *ret_tables = 0;
    while ((status = next_row(&rest, &row)) > 0) {
        if (!schema_table(row.table)) {
            status = fail(GAIT_ERR_FORMAT, "journal names table %d, which does not exist",
                          (int)row.table);
            break;
        }
        *ret_tables |= 1u << row.table;
        entries->count = (size_t)(rest.bytes - entries->bytes);
    }
    if (!*ret_tables)
        entries->count = 0;
    return status;
}

// A row names rows of tables with lower ids only: in order of the ids what is
// named comes before who names it.
int journal_write_frames(struct slice entries, struct table_writer *writer)
{
    uint32_t tables;
    const int found = find_tables(&entries, &tables);
    int status = 0;

    for (int table = 0; status == 0 && table < TABLE_COUNT; table++)
        if (tables >> table & 1)
            status = write_table(entries, (enum table_id)table, writer);
    return status ? status : found;
}
