// SPDX-License-Identifier: Apache-2.0
// A Parquet file of one table: rows are kept until a row group is full; the footer at the end
// says where all pages are.
//
//     parquet_file_begin(&file, out, kinds, count)
//     for each row: parquet_column_add...(&file.columns[i], ...) for each column,
//                   then parquet_file_end_row(&file)
//     parquet_file_end(&file)
//     parquet_file_finish(&file)
#ifndef GAIT_EXPORT_PARQUET_FILE_H
#define GAIT_EXPORT_PARQUET_FILE_H

#include "export/parquet/parquet_column.h"

enum { PARQUET_MOST_COLUMNS = 32 };

struct output_stream;
struct parquet_group;

struct parquet_file {
    struct output_stream *out;
    const struct parquet_kind *kinds;
    struct parquet_column columns[PARQUET_MOST_COLUMNS];
    size_t column_count;
    struct parquet_group *groups;
    size_t group_count, group_room, rows;
    int64_t at, all_rows; // bytes and rows written
    struct buffer pages;
};

void parquet_file_begin(struct parquet_file *file, struct output_stream *out,
                        const struct parquet_kind *kinds, size_t count);
GAIT_CHECK int parquet_file_end_row(struct parquet_file *file);
GAIT_CHECK int parquet_file_end(struct parquet_file *file);
void parquet_file_finish(struct parquet_file *file); // takes a zeroed struct

#endif
