// SPDX-License-Identifier: Apache-2.0
// The dictionary is not here: preamble.h writes it whole.
#define _GNU_SOURCE
#include "record/retell.h"

#include "base/fail.h"
#include "record/notes.h"
#include "record/recorder.h"

#define ENTRIES_MAX_BYTES (64u << 20)

static int add_entry(struct buffer *entries, const struct journal_row *row)
{
    size_t bytes = journal_row_bytes(row);
    uint8_t *room = buffer_reserve(entries, bytes);
    if (!room)
        return fail(GAIT_ERR_MEMORY, "no memory to tell names again");
    journal_row_write(row, room);
    entries->used += bytes;
    return 0;
}

int retell_names(const struct recorder *recorder, struct table_writer *tables)
{
    struct buffer entries;
    int status = 0;
    buffer_init(&entries, ENTRIES_MAX_BYTES);
    for (uint32_t i = 0; i < notes_count() && status == 0; i++) {
        const struct journal_row row = notes_row(i);
        status = add_entry(&entries, &row);
    }
    for (const struct writer *writer = recorder->writers; writer && status == 0;
         writer = writer->next) {
        const struct journal_row row = recorder_track_row(writer);
        status = add_entry(&entries, &row);
    }
    if (status == 0)
        status = journal_write_frames((struct slice){entries.bytes, entries.used}, tables);
    buffer_finish(&entries);
    return status;
}
