// SPDX-License-Identifier: Apache-2.0
// Fuzzes the way from a frame's bytes to its rows. No fuzzer guesses a hash, so
// the input's header is only a wish: its numbers are taken, its magic and hash
// are made good. Frames stand one behind the other, as in a file.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "format/args.h"
#include "format/table_reader.h"

// What costs time but no thought: more rows than this, and blobs that inflate
// to more, are left out, or a run would spend its time in memset().
#define MOST_ROWS 4096
#define MOST_RAW (256u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct table_reader reader;
static struct buffer text;

static bool is_ready(void)
{
    static bool ready;

    if (!ready) {
        buffer_init(&text, FRAME_MAX_RAW);
        ready = table_reader_init(&reader) == 0;
    }
    return ready;
}

// A header that reads well, as near to the wish as the rules allow.
static bool grant_header(const uint8_t *wish, size_t left, struct frame_header *ret_header)
{
    uint8_t bytes[FRAME_HEADER_BYTES];
    struct frame_header header = {
        .version = FRAME_VERSION,
        .table = bytes_get16(wish + 10),
        .rows = bytes_get32(wish + 12) % (MOST_ROWS + 1),
        .stored_bytes = bytes_get32(wish + 16),
        .track = bytes_get32(wish + 20),
        .first = bytes_get64(wish + 32),
        .last = UINT64_MAX,
    };

    if (header.stored_bytes > left || header.stored_bytes % 8)
        header.stored_bytes = (uint32_t)left & ~7u;
    frame_header_write(&header, bytes);
    return frame_header_read(bytes, ret_header) == 0;
}

static void read_all_args(struct slice args)
{
    struct args_item item;

    while (args_next(&args, &item) == 1)
        continue;
}

// Both ways of reading, whatever the schema says: one of them must refuse.
static void read_column(const struct table_view *view, uint16_t column, uint64_t *values,
                        struct slice *slices)
{
    volatile uint8_t last;

    if (view->columns[column].raw_bytes > MOST_RAW)
        return;
    const int numbers = table_read(&reader, view, column, values);
    const int bytes = table_read_bytes(&reader, view, column, &text, slices);
    if (view->columns[column].present && view->header.rows && !numbers && !bytes)
        abort();
    for (uint32_t row = 0; !bytes && row < view->header.rows; row++) {
        if (slices[row].count)
            last = slices[row].bytes[slices[row].count - 1];
        read_all_args(slices[row]);
    }
    (void)last;
}

// Starts and durations say the same in whatever order they are asked for.
static void check_nest(const struct table_view *view)
{
    const uint32_t rows = view->header.rows;
    uint64_t *values[2], *again = malloc(rows * sizeof(*again));
    int status[2];

    for (uint16_t column = 0; column < 2; column++) {
        values[column] = malloc(rows * sizeof(*again));
        status[column] = table_read(&reader, view, column, values[column]);
    }
    for (uint16_t column = 2; column-- > 0;) {
        if (table_read(&reader, view, column, again) != status[column])
            abort();
        if (!status[column] && memcmp(again, values[column], rows * sizeof(*again)) != 0)
            abort();
    }
    free(values[0]);
    free(values[1]);
    free(again);
}

// Places of exactly the size promised: a sanitizer sees a step past them.
static void read_frame(const struct frame_header *header, const uint8_t *bytes)
{
    struct table_view view;
    uint8_t *payload = malloc(header->stored_bytes);
    uint64_t *values = malloc(header->rows * sizeof(*values));
    struct slice *slices = malloc(header->rows * sizeof(*slices));

    memcpy(payload, bytes, header->stored_bytes);
    if (table_view_init(&view, header, payload) == 0) {
        for (uint16_t column = 0; column < SCHEMA_MAX_COLUMNS; column++)
            if (view.columns[column].present)
                read_column(&view, column, values, slices);
        if (header->rows && view.columns[0].raw_bytes < MOST_RAW &&
            view.columns[1].raw_bytes < MOST_RAW && view.columns[3].raw_bytes < MOST_RAW)
            check_nest(&view);
    }
    free(slices);
    free(values);
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_header header;

    if (!is_ready())
        return 0;
    if (frame_find(data, size, size / 2) > size)
        abort();
    for (size_t at = 0; size - at >= FRAME_HEADER_BYTES + 8;) {
        if (!grant_header(data + at, size - at - FRAME_HEADER_BYTES, &header))
            break;
        read_frame(&header, data + at + FRAME_HEADER_BYTES);
        at += FRAME_HEADER_BYTES + header.stored_bytes;
    }
    return 0;
}
