// SPDX-License-Identifier: Apache-2.0
// A small file of frames, cut at every byte and with every bit flipped. A
// reader of the plainest kind must keep every frame whose bytes are the ones
// written, and must take none that is not.
#include "format/table_reader.h"
#include "format/table_writer.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { ROWS = 40, FRAMES = 6, MAX_BYTES = 8192 };

static uint8_t file[MAX_BYTES];
static size_t file_bytes, frame_at[FRAMES + 1];

static bool write_file(void)
{
    struct random_values random = {14};
    struct buffer out;
    struct table_writer writer;
    uint64_t start[ROWS], site[ROWS];
    struct slice texts[ROWS];
    uint64_t tick = 1ull << 50;
    bool held;

    buffer_init(&out, MAX_BYTES);
    held = is_int(table_writer_init(&writer, &out, 200, 4096), 0);
    for (int frame = 0; frame < FRAMES && held; frame++) {
        frame_at[frame] = out.used;
        for (int row = 0; row < ROWS; row++) {
            start[row] = tick += random_below(&random, 3000);
            site[row] = random_below(&random, 40);
            texts[row] = slice_of(row % 3 ? "text" : "");
        }
        table_begin(&writer, frame % 2 ? TABLE_LOG : TABLE_SPAN, 1, ROWS);
        table_put(&writer, 0, TRANSFORM_DELTA, start);
        if (frame % 2 == 0)
            table_put(&writer, 2, TRANSFORM_NONE, site);
        else
            table_put_bytes(&writer, 2, texts);
        held = is_int(table_end(&writer, &(struct table_about){start[0], tick, ROWS}, NULL), 0);
    }
    frame_at[FRAMES] = file_bytes = out.used;
    if (held)
        memcpy(file, out.bytes, out.used);
    table_writer_finish(&writer);
    buffer_finish(&out);
    return held;
}

struct plain_reader {
    struct table_reader tables;
    struct buffer text;
    uint64_t values[ROWS];
    struct slice slices[ROWS];
};

// Every column of an intact frame must be readable.
static bool read_frame(struct plain_reader *reader, const struct frame_header *header,
                       const uint8_t *payload)
{
    struct table_view view;

    if (header->rows != ROWS || table_view_init(&view, header, payload) != 0)
        return false;
    if (table_read(&reader->tables, &view, 0, reader->values) != 0)
        return false;
    return header->table == TABLE_SPAN
               ? table_read(&reader->tables, &view, 2, reader->values) == 0
               : table_read_bytes(&reader->tables, &view, 2, &reader->text, reader->slices) == 0;
}

// Bit i: the frame that was written as number i was found intact and whole.
// Anything else that is found counts as bit 31.
static unsigned frames_found(struct plain_reader *reader, const uint8_t *bytes, size_t count)
{
    struct frame_header header;
    unsigned found = 0;
    size_t at = 0;

    while ((at = frame_find(bytes, count, at)) < count) {
        if (frame_header_read(bytes + at, &header) != 0 ||
            header.stored_bytes > count - at - FRAME_HEADER_BYTES ||
            !frame_payload_is_intact(&header, bytes + at + FRAME_HEADER_BYTES)) {
            at += 8;
            continue;
        }
        const size_t end = at + FRAME_HEADER_BYTES + header.stored_bytes;
        const bool same = header.sequence < FRAMES && frame_at[header.sequence] == at &&
                          memcmp(bytes + at, file + at, end - at) == 0;
        const bool readable = read_frame(reader, &header, bytes + at + FRAME_HEADER_BYTES);
        found |= same && readable ? 1u << header.sequence : 1u << 31;
        at = end;
    }
    return found;
}

static bool reader_init(struct plain_reader *reader)
{
    buffer_init(&reader->text, FRAME_MAX_RAW);
    return is_int(table_reader_init(&reader->tables), 0) && write_file();
}

static void reader_finish(struct plain_reader *reader)
{
    table_reader_finish(&reader->tables);
    buffer_finish(&reader->text);
}

TEST("damaged file: cut at any byte, the frames before the cut are served")
{
    struct plain_reader reader;

    if (!reader_init(&reader))
        return;
    for (size_t cut = 0; cut <= file_bytes; cut++) {
        uint8_t *copy = malloc(cut + 1);
        unsigned expected = 0;
        for (int frame = 0; frame < FRAMES; frame++)
            expected |= (unsigned)(frame_at[frame + 1] <= cut) << frame;
        memcpy(copy, file, cut);
        const bool held = is_u64(frames_found(&reader, copy, cut), expected);
        free(copy);
        if (!held)
            break;
    }
    reader_finish(&reader);
}

TEST("damaged file: with any bit flipped, all frames but the one are served")
{
    struct plain_reader reader;

    if (!reader_init(&reader))
        return;
    uint8_t *copy = malloc(file_bytes);
    memcpy(copy, file, file_bytes);
    for (size_t bit = 0; bit < file_bytes * 8; bit++) {
        unsigned expected = (1u << FRAMES) - 1;
        for (int frame = 0; frame < FRAMES; frame++)
            if (frame_at[frame] <= bit / 8 && bit / 8 < frame_at[frame + 1])
                expected &= ~(1u << frame);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const bool held = is_u64(frames_found(&reader, copy, file_bytes), expected);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!held)
            break;
    }
    is_u64(frames_found(&reader, copy, file_bytes), (1u << FRAMES) - 1);
    free(copy);
    reader_finish(&reader);
}

TEST("damaged file: payloads with any bit flipped are survived without the hashes")
{
    struct plain_reader reader;
    struct frame_header header;
    int read = 0, refused = 0;

    if (!reader_init(&reader))
        return;
    for (int frame = 0; frame < FRAMES; frame++) {
        const size_t at = frame_at[frame] + FRAME_HEADER_BYTES;
        const size_t bytes = frame_at[frame + 1] - at;
        uint8_t *payload = malloc(bytes);
        memcpy(payload, file + at, bytes);
        if (!is_int(frame_header_read(file + frame_at[frame], &header), 0))
            break;
        for (size_t bit = 0; bit < bytes * 8; bit++) {
            payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (read_frame(&reader, &header, payload))
                read++;
            else
                refused++;
            payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(payload);
    }
    ok(read > 1000 && refused > 1000);
    reader_finish(&reader);
}
