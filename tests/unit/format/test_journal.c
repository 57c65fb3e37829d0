// SPDX-License-Identifier: Apache-2.0
#include "format/journal.h"
#include "format/table_reader.h"
#include "support/tap.h"

enum { MAX_FRAMES = 8 };

struct journal {
    struct buffer entries, out, text;
    struct table_writer writer;
    struct table_reader reader;
};

static bool journal_init(struct journal *journal)
{
    buffer_init(&journal->entries, 1 << 20);
    buffer_init(&journal->out, 1 << 20);
    buffer_init(&journal->text, 1 << 20);
    return is_int(table_writer_init(&journal->writer, &journal->out, 300, 1 << 16), 0) &&
           is_int(table_reader_init(&journal->reader), 0);
}

static void journal_finish(struct journal *journal)
{
    table_writer_finish(&journal->writer);
    table_reader_finish(&journal->reader);
    buffer_finish(&journal->entries);
    buffer_finish(&journal->out);
    buffer_finish(&journal->text);
}

static void add(struct journal *journal, enum table_id table, uint64_t id, const char *text)
{
    struct journal_row row = {table, 1, text != NULL, {id}, {slice_of(text)}};
    const size_t bytes = journal_row_bytes(&row);
    uint8_t *room = buffer_reserve(&journal->entries, bytes);

    if (!ok(room))
        return;
    journal_row_write(&row, room);
    journal->entries.used += bytes;
}

static int write_frames(struct journal *journal)
{
    return journal_write_frames((struct slice){journal->entries.bytes, journal->entries.used},
                                &journal->writer);
}

// Tables and numbers of rows of the frames written; returns how many there are.
static int look(struct journal *journal, struct frame_header headers[MAX_FRAMES])
{
    size_t at = 0;
    int count = 0;

    for (; at < journal->out.used && count < MAX_FRAMES; count++) {
        if (!is_int(frame_header_read(journal->out.bytes + at, &headers[count]), 0))
            return count;
        at += FRAME_HEADER_BYTES + headers[count].stored_bytes;
    }
    return count;
}

TEST("journal: rows go out table by table, names before who names them, in their order")
{
    struct journal journal;
    struct frame_header headers[MAX_FRAMES];
    struct table_view view;
    uint64_t ids[3] = {0};
    struct slice texts[3];

    if (!journal_init(&journal))
        return;
    add(&journal, TABLE_TRACK, 1, NULL);
    for (uint64_t id = 1; id <= 3; id++) {
        add(&journal, TABLE_SITE, id, NULL);
        add(&journal, TABLE_STRING, 10 - id, id == 2 ? "two" : "");
    }
    is_int(write_frames(&journal), 0);
    if (is_int(look(&journal, headers), 3)) {
        ok(headers[0].table == TABLE_STRING && headers[0].rows == 3);
        ok(headers[1].table == TABLE_SITE && headers[1].rows == 3);
        ok(headers[2].table == TABLE_TRACK && headers[2].rows == 1);
        is_int(table_view_init(&view, &headers[0], journal.out.bytes + FRAME_HEADER_BYTES), 0);
        is_int(table_read(&journal.reader, &view, 0, ids), 0);
        ok(ids[0] == 9 && ids[1] == 8 && ids[2] == 7);
        is_int(table_read_bytes(&journal.reader, &view, 1, &journal.text, texts), 0);
        ok(texts[0].count == 0 && texts[1].count == 3 && memcmp(texts[1].bytes, "two", 3) == 0);
    }
    journal_finish(&journal);
}

TEST("journal: more rows than a frame takes make several")
{
    struct journal journal;
    struct frame_header headers[MAX_FRAMES];

    if (!journal_init(&journal))
        return;
    for (uint64_t id = 0; id < 600; id++)
        add(&journal, TABLE_STRING, id, "x");
    is_int(write_frames(&journal), 0);
    if (is_int(look(&journal, headers), 3))
        is_u64(headers[0].rows + headers[1].rows + headers[2].rows, 600);
    journal_finish(&journal);
}

TEST("journal: what stands before nonsense is written, and the nonsense is said")
{
    struct journal journal;
    struct frame_header headers[MAX_FRAMES];

    for (int kind = 0; kind < 3; kind++) {
        if (!journal_init(&journal))
            return;
        add(&journal, TABLE_SITE, 1, NULL);
        add(&journal, TABLE_STRING, 1, "one");
        const size_t good = journal.entries.used;
        add(&journal, kind == 0 ? (enum table_id)99 : TABLE_STRING, 2, "two");
        add(&journal, TABLE_STRING, 3, "three");
        if (kind == 1)
            journal.entries.bytes[good] = 3; // a length that is none
        if (kind == 2)
            journal.entries.used = good + 4; // cut
        is_int(write_frames(&journal), GAIT_ERR_FORMAT);
        if (is_int(look(&journal, headers), 2))
            ok(headers[0].rows == 1 && headers[1].rows == 1);
        journal_finish(&journal);
    }
    if (!journal_init(&journal))
        return;
    is_int(write_frames(&journal), 0); // nothing at all
    is_u64(journal.out.used, 0);
    journal_finish(&journal);
}
