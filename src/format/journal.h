// SPDX-License-Identifier: Apache-2.0
// The journal: rows of small tables (dictionaries, tracks, metadata) on their
// way from any thread to the shard, kept in shared memory so that a crash does
// not lose the names of what was recorded. Rows are idempotent: written
// twice, they say the same.
//
// An entry carries a row's numbers in column order and its texts in column
// order, so one function turns entries of any table into frames.
#ifndef GAIT_FORMAT_JOURNAL_H
#define GAIT_FORMAT_JOURNAL_H

#include <stdint.h>

#include "base/slice.h"
#include "format/table_writer.h"

#define JOURNAL_MAX_NUMBERS 8
#define JOURNAL_MAX_TEXTS 2
#define JOURNAL_MAX_TEXT (1u << 20)

struct journal_row {
    enum table_id table;
    uint32_t number_count, text_count;
    uint64_t numbers[JOURNAL_MAX_NUMBERS];
    struct slice texts[JOURNAL_MAX_TEXTS];
};

size_t journal_row_bytes(const struct journal_row *row);

// Encodes into exactly journal_row_bytes() bytes at `out` (8-aligned).
void journal_row_write(const struct journal_row *row, uint8_t *out);

// Appends frames with all rows of `entries` to the writer, table by table; the
// rows of each stay in their order.
GAIT_CHECK int journal_write_frames(struct slice entries, struct table_writer *writer);

// The same for one row that never saw a journal.
GAIT_CHECK int journal_write_row(const struct journal_row *row, struct table_writer *writer);

#endif
