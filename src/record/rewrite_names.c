// SPDX-License-Identifier: Apache-2.0
// The dictionary is not here: preamble.h writes it whole.
#define _GNU_SOURCE
#include "record/rewrite_names.h"

#include "record/metadata_store.h"
#include "record/recorder.h"
#include "shard/small_rows.h"

int rewrite_names(const struct recorder *recorder, struct table_writer *tables)
{
    struct small_rows rows;
    small_rows_init(&rows);
    for (uint32_t i = 0; i < metadata_store_count(); i++) {
        const struct journal_row row = metadata_store_row(i);
        small_rows_add(&rows, &row);
    }
    for (const struct writer *writer = recorder->writers; writer; writer = writer->next) {
        const struct journal_row row = recorder_track_row(writer);
        small_rows_add(&rows, &row);
    }
    const int status = small_rows_write(&rows, tables);
    small_rows_finish(&rows);
    return status;
}
