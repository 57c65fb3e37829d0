// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/parquet_file.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "export/output/output_stream.h"
#include "export/parquet/thrift_writer.h"

enum {
    GROUP_ROWS = 1 << 17,
    GROUP_BYTES = 64 << 20, // of all values
    MOST_BYTES = 1 << 30,
    CODEC_ZSTD = 6,
};

struct parquet_group {
    struct parquet_chunk chunks[PARQUET_MOST_COLUMNS];
};

static void put(struct parquet_file *file, const void *bytes, size_t count)
{
    output_write(file->out, bytes, count);
    file->at += (int64_t)count;
}

static int end_group(struct parquet_file *file)
{
    int status = GAIT_OK;
    if (!file->rows)
        return GAIT_OK;
    status = ARRAY_RESERVE(file->groups, file->group_room, file->group_count + 1, 1 << 20);
    for (size_t i = 0; !status && i < file->column_count; i++) {
        file->pages.used = 0;
        status = parquet_column_write(&file->columns[i], &file->pages, file->at,
                                      &file->groups[file->group_count].chunks[i]);
        if (!status)
            put(file, file->pages.bytes, file->pages.used);
    }
    file->group_count++;
    file->all_rows += (int64_t)file->rows;
    file->rows = 0;
    return status ? status : file->out->status;
}

static void put_schema(struct thrift_writer *footer, const struct parquet_kind *kinds, size_t count)
{
    thrift_begin_list(footer, 2, THRIFT_STRUCT, count + 1);
    thrift_begin_element(footer);
    thrift_put_text(footer, 4, "events");
    thrift_put_i32(footer, 5, (int32_t)count);
    thrift_end(footer);
    for (size_t i = 0; i < count; i++) {
        thrift_begin_element(footer);
        thrift_put_i32(footer, 1, (int32_t)kinds[i].type);
        thrift_put_i32(footer, 3, kinds[i].is_optional);
        thrift_put_text(footer, 4, kinds[i].name);
        if (kinds[i].meaning != PARQUET_PLAIN)
            thrift_put_i32(footer, 6, (int32_t)kinds[i].meaning);
        thrift_end(footer);
    }
}

static void put_chunk(struct thrift_writer *footer, const struct parquet_kind *kind,
                      const struct parquet_chunk *chunk)
{
    thrift_begin_element(footer);
    thrift_put_i64(footer, 2, kind->has_words ? chunk->dictionary_at : chunk->data_at);
    thrift_begin_struct(footer, 3);
    thrift_put_i32(footer, 1, (int32_t)kind->type);
    thrift_begin_list(footer, 2, THRIFT_I32, kind->has_words ? 3 : 2);
    thrift_add_i32(footer, 0); // PLAIN
    thrift_add_i32(footer, 3); // RLE
    if (kind->has_words)
        thrift_add_i32(footer, 8); // RLE_DICTIONARY
    thrift_begin_list(footer, 3, THRIFT_TEXT, 1);
    thrift_add_text(footer, kind->name);
    thrift_put_i32(footer, 4, CODEC_ZSTD);
    thrift_put_i64(footer, 5, chunk->rows);
    thrift_put_i64(footer, 6, chunk->plain_bytes);
    thrift_put_i64(footer, 7, chunk->packed_bytes);
    thrift_put_i64(footer, 9, chunk->data_at);
    if (kind->has_words)
        thrift_put_i64(footer, 11, chunk->dictionary_at);
    thrift_end(footer);
    thrift_end(footer);
}

static void put_group(struct thrift_writer *footer, const struct parquet_file *file,
                      const struct parquet_group *group)
{
    const size_t count = file->column_count;
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += group->chunks[i].plain_bytes;
    thrift_begin_element(footer);
    thrift_begin_list(footer, 1, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++)
        put_chunk(footer, &file->kinds[i], &group->chunks[i]);
    thrift_put_i64(footer, 2, bytes);
    thrift_put_i64(footer, 3, group->chunks[0].rows);
    thrift_end(footer);
}

void parquet_file_begin(struct parquet_file *file, struct output_stream *out,
                        const struct parquet_kind *kinds, size_t count)
{
    *file = (struct parquet_file){.out = out, .kinds = kinds, .column_count = count};
    buffer_init(&file->pages, MOST_BYTES);
    for (size_t i = 0; i < count; i++)
        parquet_column_init(&file->columns[i], &kinds[i]);
    put(file, "PAR1", 4);
}

int parquet_file_end_row(struct parquet_file *file)
{
    size_t bytes = 0;
    file->rows++;
    for (size_t i = 0; i < file->column_count; i++)
        bytes += file->columns[i].values.used;
    return file->rows < GROUP_ROWS && bytes < GROUP_BYTES ? GAIT_OK : end_group(file);
}

void parquet_file_finish(struct parquet_file *file)
{
    for (size_t i = 0; i < file->column_count; i++)
        parquet_column_finish(&file->columns[i]);
    buffer_finish(&file->pages);
    free(file->groups);
}

int parquet_file_end(struct parquet_file *file)
{
    struct thrift_writer footer = {.out = &file->pages};
    uint8_t size[4];
    const int status = end_group(file);
    if (status)
        return status;
    file->pages.used = 0;
    thrift_put_i32(&footer, 1, 1);
    put_schema(&footer, file->kinds, file->column_count);
    thrift_put_i64(&footer, 3, file->all_rows);
    thrift_begin_list(&footer, 4, THRIFT_STRUCT, file->group_count);
    for (size_t i = 0; i < file->group_count; i++)
        put_group(&footer, file, &file->groups[i]);
    thrift_put_text(&footer, 6, "gait");
    thrift_end(&footer);
    bytes_put32(size, (uint32_t)file->pages.used);
    put(file, file->pages.bytes, file->pages.used);
    put(file, size, sizeof size);
    put(file, "PAR1", 4);
    return footer.status;
}
