// SPDX-License-Identifier: Apache-2.0
// One column of a row group: its values until they are written as pages, packed by zstd.
#ifndef GAIT_EXPORT_PARQUET_COLUMN_H
#define GAIT_EXPORT_PARQUET_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/index/hash_index.h"
#include "base/slice.h"

enum parquet_type { PARQUET_INT64 = 2, PARQUET_DOUBLE = 5, PARQUET_TEXT = 6 };
enum parquet_meaning { PARQUET_PLAIN = -1, PARQUET_UTF8 = 0, PARQUET_UINT64 = 14 };

struct parquet_kind {
    const char *name;
    enum parquet_type type;
    enum parquet_meaning meaning;
    bool is_optional;
    bool has_words; // texts that come again and again: a dictionary
};

struct parquet_column {
    const struct parquet_kind *kind;
    struct buffer values;  // of what is there, as PLAIN has them; of a dictionary its words
    struct buffer present; // a byte for each row
    struct buffer indices; // 4 bytes each, of words
    struct buffer places;  // 4 bytes each: where a word begins in values
    struct hash_index index;
    size_t rows, nulls, words;
};

// What the footer says of a column's pages.
struct parquet_chunk {
    int64_t dictionary_at, data_at; // in the file; dictionary_at 0: none
    int64_t packed_bytes, plain_bytes, rows;
};

void parquet_column_init(struct parquet_column *column, const struct parquet_kind *kind);
void parquet_column_finish(struct parquet_column *column); // takes a zeroed struct

GAIT_CHECK int parquet_column_add(struct parquet_column *column, const void *value);
GAIT_CHECK int parquet_column_add_text(struct parquet_column *column, struct slice text);
// A text by the number that it has in the dictionary until the column is written: that of the
// text added last.
uint32_t parquet_column_last_word(const struct parquet_column *column);
GAIT_CHECK int parquet_column_add_word(struct parquet_column *column, uint32_t word);
GAIT_CHECK int parquet_column_add_none(struct parquet_column *column);

// Appends the pages to `out`, which begins at `at` in the file, and empties the column.
GAIT_CHECK int parquet_column_write(struct parquet_column *column, struct buffer *out, int64_t at,
                                    struct parquet_chunk *ret_chunk);

#endif
