// SPDX-License-Identifier: Apache-2.0
// All columns of one frame at a time, as our schema numbers them: the
// comfortable way, for dictionaries and everything else that is small.
#ifndef GAIT_LOAD_ROW_READER_H
#define GAIT_LOAD_ROW_READER_H

#include "base/buffer.h"
#include "format/table_reader.h"
#include "load/shard/schema_map.h"
#include "load/shard/shard.h"

struct row_column {
    uint64_t *numbers; // of a number column
    size_t number_capacity;
    struct slice *slices; // of a bytes column; they point into `text`
    size_t slice_capacity;
    struct buffer text;
};

struct row_reader {
    struct table_reader reader;
    struct buffer payload;
    struct table_view view;
    size_t rows; // of the frame loaded
    struct row_column columns[SCHEMA_MAX_COLUMNS];
};

GAIT_CHECK int row_reader_init(struct row_reader *reader);
void row_reader_finish(struct row_reader *reader); // takes NULL

// Loads a frame of a table that we know. A damaged one is noted in the shard
// and is GAIT_ERR_FORMAT.
GAIT_CHECK int row_reader_load(struct row_reader *reader, struct shard *shard, size_t frame,
                               const struct schema_map *map);

#endif
