// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "support/random_values.h"

void golden_check(int status)
{
    if (!status)
        return;
    fprintf(stderr, "make_golden: %s\n", fail_text());
    exit(1);
}

const struct slice *golden_texts(const char *const *texts)
{
    static struct slice slices[8][16];
    static unsigned turn;
    struct slice *mine = slices[turn++ % 8];

    for (int i = 0; i < 16; i++)
        mine[i] = slice_of(texts[i]);
    return mine;
}

static void note_frame(struct golden *golden, uint64_t offset)
{
    if (golden->frames == sizeof golden->offsets / sizeof golden->offsets[0])
        golden_check(fail(GAIT_ERR_MEMORY, "too many frames for a golden file"));
    golden_check(frame_header_read(golden->bytes.bytes + offset, &golden->headers[golden->frames]));
    golden->offsets[golden->frames++] = offset;
}

// FORMAT.md section 8: the frames since the index frame before, itself included.
static void write_index(struct golden *golden)
{
    static uint64_t columns[8][512];
    const uint64_t offset = golden->bytes.used;
    const uint32_t rows = golden->frames - golden->listed;

    for (uint32_t row = 0; row < rows; row++) {
        const struct frame_header *header = &golden->headers[golden->listed + row];
        columns[0][row] = golden->offsets[golden->listed + row];
        columns[1][row] = header->stored_bytes;
        columns[2][row] = header->table;
        columns[3][row] = header->track;
        columns[4][row] = header->rows;
        columns[5][row] = header->events;
        columns[6][row] = header->first;
        columns[7][row] = header->last;
    }
    table_begin(&golden->writer, TABLE_INDEX, 0, rows);
    for (uint16_t i = 0; i < 8; i++)
        table_put(&golden->writer, i, i ? TRANSFORM_NONE : TRANSFORM_DELTA, columns[i]);
    golden_check(table_end(&golden->writer, &(struct table_about){0}, NULL));
    golden->listed = golden->frames;
    golden->index_offset = offset;
    note_frame(golden, offset);
}

void golden_begin(struct golden *golden)
{
    memset(golden, 0, sizeof *golden);
    buffer_init(&golden->bytes, 16 << 20);
    golden_check(table_writer_init(&golden->writer, &golden->bytes, 2000, 1 << 20));
    golden_check(table_write_schema(&golden->writer));
    note_frame(golden, 0);
}

static void put_column(struct golden *golden, const struct golden_spec *spec, uint16_t i)
{
    const struct golden_column *column = &spec->columns[i];

    if (column->numbers)
        table_put(&golden->writer, i, (enum column_transform)spec->transforms[i], column->numbers);
    else if (column->reals)
        table_put_real(&golden->writer, i, column->reals);
    else if (column->texts)
        table_put_bytes(&golden->writer, i, column->texts);
}

void golden_frame(struct golden *golden, const struct golden_spec *spec)
{
    const uint64_t offset = golden->bytes.used;

    table_begin(&golden->writer, spec->table, spec->track, spec->rows);
    if (spec->is_nested || spec->counts_from_first)
        table_count_from(&golden->writer, spec->first);
    if (spec->is_nested)
        table_put_nested(&golden->writer, spec->columns[0].numbers, spec->columns[1].numbers,
                         spec->table == TABLE_SPAN ? spec->columns[3].numbers : NULL);
    for (uint16_t i = 0; i < 8; i++)
        if (!spec->is_nested || (i > 1 && (spec->table != TABLE_SPAN || i != 3)))
            put_column(golden, spec, i);
    golden_check(table_end(&golden->writer,
                           &(struct table_about){spec->first, spec->last, spec->events}, NULL));
    note_frame(golden, offset);
    if (golden->index_every && golden->frames - golden->listed == golden->index_every)
        write_index(golden);
}

void golden_meta(struct golden *golden, const char *key, const char *json)
{
    golden_frame(golden, &(struct golden_spec){
                             .table = TABLE_META, .rows = 1, .columns = {T(key), T(json)}});
}

void golden_close(struct golden *golden)
{
    uint8_t trailer[FRAME_TRAILER_BYTES];

    write_index(golden);
    frame_trailer_write(&(struct frame_trailer){golden->index_offset, golden->frames}, trailer);
    golden_check(buffer_append(&golden->bytes, trailer, sizeof trailer));
}

void golden_save(struct golden *golden, const char *folder, const char *name)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s.gait", folder, name);
    FILE *file = fopen(path, "wx"); // fails where there is one already
    if (file) {
        const size_t written = fwrite(golden->bytes.bytes, 1, golden->bytes.used, file);
        if (fclose(file) != 0 || written != golden->bytes.used)
            golden_check(fail(GAIT_ERR_IO, "cannot write '%s'", path));
    }
    printf("%s: %s\n", path, file ? "written" : "kept as it is");
    table_writer_finish(&golden->writer);
    buffer_finish(&golden->bytes);
}

void golden_fill(uint32_t shape, uint64_t *values, uint32_t rows)
{
    struct random_values random = {shape + 1};
    uint64_t last = 5000;

    for (uint32_t row = 0; row < rows; row++) {
        const uint64_t noise = random_next(&random);
        const uint64_t by_shape[GOLDEN_SHAPES] = {random_magnitude(&random),
                                                  last + noise % 5000,
                                                  last + noise % 5000 - 2500,
                                                  noise % 16,
                                                  UINT64_MAX,
                                                  (row + 1) * 7,
                                                  0,
                                                  noise,
                                                  noise >> 40};
        values[row] = last = by_shape[shape];
    }
}

static void rewrite_header(struct golden *golden, uint32_t frame)
{
    uint8_t *at = golden->bytes.bytes + golden->offsets[frame];
    struct frame_header *header = &golden->headers[frame];

    header->payload_hash = frame_hash(at + FRAME_HEADER_BYTES, header->stored_bytes);
    frame_header_write(header, at);
}

void golden_patch_encoding(struct golden *golden, uint16_t column, uint8_t packing)
{
    const uint32_t frame = golden->frames - 1;
    uint8_t *payload = golden->bytes.bytes + golden->offsets[frame] + FRAME_HEADER_BYTES;

    for (uint32_t i = 0; i < bytes_get32(payload); i++)
        if (bytes_get16(payload + FRAME_DIRECTORY_BYTES(i)) == column)
            payload[FRAME_DIRECTORY_BYTES(i) + 3] = packing;
    rewrite_header(golden, frame);
}

static uint32_t frame_of(const struct golden *golden, enum table_id table)
{
    for (uint32_t i = 0; i < golden->frames; i++)
        if (golden->headers[i].table == table)
            return i;
    golden_check(fail(GAIT_ERR_MISSING, "no such frame to harm"));
    return 0;
}

// In the middle of the payload of the last span frame's successor.
void golden_truncate(struct golden *golden)
{
    golden->bytes.used = golden->offsets[frame_of(golden, TABLE_SAMPLE)] + FRAME_HEADER_BYTES + 24;
}

void golden_flip_payload(struct golden *golden)
{
    golden->bytes.bytes[golden->offsets[frame_of(golden, TABLE_SPAN)] + 200] ^= 0x10;
}

void golden_flip_header(struct golden *golden)
{
    golden->bytes.bytes[golden->offsets[frame_of(golden, TABLE_COUNTER)] + 12] ^= 0x01;
}

static void move_tail(struct golden *golden, uint64_t from, int64_t by)
{
    uint8_t *at = golden->bytes.bytes + from;
    const size_t count = golden->bytes.used - from;

    if (by > 0 && !buffer_reserve(&golden->bytes, (size_t)by))
        golden_check(fail(GAIT_ERR_MEMORY, "no room"));
    at = golden->bytes.bytes + from;
    memmove(at + by, at, count);
    golden->bytes.used += (size_t)by;
}

void golden_cut_frame(struct golden *golden)
{
    const uint32_t frame = frame_of(golden, TABLE_MARK);
    const int64_t bytes = FRAME_HEADER_BYTES + golden->headers[frame].stored_bytes;

    move_tail(golden, golden->offsets[frame + 1], -bytes);
}

// 24 bytes that begin like a frame, between two frames.
void golden_insert_bytes(struct golden *golden)
{
    const uint64_t at = golden->offsets[frame_of(golden, TABLE_STEP)];

    move_tail(golden, at, 24);
    memcpy(golden->bytes.bytes + at, golden->bytes.bytes, 24);
}
