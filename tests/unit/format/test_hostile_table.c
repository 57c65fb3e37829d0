// SPDX-License-Identifier: Apache-2.0
// Payloads that lie. Each is built from a good one and given hashes that agree,
// as somebody would who means harm.
#include <zstd.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "format/table_reader.h"
#include "format/table_writer.h"
#include "support/quad_whole.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { ROWS = 10 };

struct hostile {
    uint8_t payload[4096];
    size_t used;
    uint32_t columns;
    struct frame_header header;
};

// A directory entry as it stands in the file.
struct entry {
    uint16_t column;
    uint8_t transform, packing, compression, reserved;
    uint32_t raw_bytes, stored_bytes;
};

static void begin(struct hostile *hostile, uint16_t table, uint32_t columns)
{
    memset(hostile, 0, sizeof *hostile);
    hostile->header = (struct frame_header){.version = 1, .table = table, .rows = ROWS};
    hostile->used = FRAME_DIRECTORY_BYTES(columns);
    bytes_put32(hostile->payload, columns);
}

static void add(struct hostile *hostile, struct entry entry, const void *blob, size_t bytes)
{
    uint8_t *at = hostile->payload + FRAME_DIRECTORY_BYTES(hostile->columns++);

    bytes_put16(at, entry.column);
    at[2] = entry.transform;
    at[3] = entry.packing;
    at[4] = entry.compression;
    at[6] = entry.reserved;
    bytes_put32(at + 8, entry.raw_bytes);
    bytes_put32(at + 12, entry.stored_bytes);
    memcpy(hostile->payload + hostile->used, blob, bytes);
    hostile->used += bytes;
}

// Memory of exactly the payload's size, so that a sanitizer sees a step past.
static int verdict(struct hostile *hostile, uint16_t column, bool bytes)
{
    const size_t stored = (hostile->used + 7) & ~(size_t)7;
    uint8_t *payload = malloc(stored);
    struct table_reader reader;
    struct table_view view;
    struct buffer text;
    uint64_t values[ROWS];
    struct slice slices[ROWS];

    memcpy(payload, hostile->payload, stored);
    hostile->header.stored_bytes = (uint32_t)stored;
    buffer_init(&text, FRAME_MAX_RAW);
    int status = table_reader_init(&reader);
    if (!status)
        status = table_view_init(&view, &hostile->header, payload);
    if (!status && bytes)
        status = table_read_bytes(&reader, &view, column, &text, slices);
    else if (!status)
        status = table_read(&reader, &view, column, values);
    table_reader_finish(&reader);
    buffer_finish(&text);
    free(payload);
    return status;
}

static size_t pack(uint8_t *out, uint64_t value)
{
    uint64_t values[ROWS];

    for (int row = 0; row < ROWS; row++)
        values[row] = value;
    return quad_encode(QUAD_8, values, ROWS, out);
}

static int number_verdict(struct entry entry, const void *blob, size_t bytes)
{
    struct hostile hostile;

    begin(&hostile, TABLE_SPAN, 1);
    add(&hostile, entry, blob, bytes);
    return verdict(&hostile, entry.column, false);
}

TEST("hostile table: the good form of each packing is taken")
{
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 1000);

    is_int(number_verdict((struct entry){0, 2, 0, 0, 0, quad, quad}, blob, quad), 0);
    is_int(number_verdict((struct entry){0, 4, 5, 0, 0, quad, quad}, blob, quad), 0);
    is_int(number_verdict((struct entry){0, 3, 6, 0, 0, quad, quad}, blob, quad), 0);
    is_int(number_verdict((struct entry){0, 3, 1, 0, 0, 80, 80}, blob, 80), 0);
    is_int(number_verdict((struct entry){0, 1, 3, 0, 0, 8, 8}, blob, 8), 0);
    is_int(number_verdict((struct entry){0, 0, 4, 0, 0, 5, 5}, blob, 5), 0);
}

TEST("hostile table: unknown encodings, reserved bytes and wrong kinds are refused")
{
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 1000);
    const struct entry bad[] = {
        {0, 7, 0, 0, 0, quad, quad},       {0, 255, 0, 0, 0, quad, quad},
        {0, 0, 7, 0, 0, quad, quad},       {0, 0, 2, 0, 0, quad, quad},
        {0, 5, 0, 0, 0, quad, quad},       {1, 6, 0, 0, 0, quad, quad},
        {2, 5, 0, 0, 0, quad, quad},       {0, 0, 5, 0, 0, 54, 54},
        {0, 0, 6, 0, 0, 44, 44},           {0, 0, 5, 0, 0, 12, 12},
        {0, 0, 0, 2, 0, quad, quad},       {0, 0, 0, 0, 1, quad, quad},
        {32, 0, 0, 0, 0, quad, quad},      {65535, 0, 0, 0, 0, quad, quad},
        {0, 0, 0, 0, 0, quad, quad - 8},   {0, 0, 0, 0, 0, quad - 1, quad},
        {0, 0, 0, 0, 0, quad + 1, quad},   {0, 0, 0, 0, 0, UINT32_MAX, quad},
        {0, 0, 0, 0, 0, quad, UINT32_MAX}, {0, 0, 1, 0, 0, quad, quad},
        {0, 0, 3, 0, 0, quad, quad},       {0, 0, 4, 0, 0, quad, quad},
        {0, 0, 0, 1, 0, quad, quad},       {0, 0, 0, 0, 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!ok(number_verdict(bad[i], blob, quad) == GAIT_ERR_FORMAT))
            printf("# entry %zu\n", i);
    }
}

static int nested_verdict(uint16_t table, const uint16_t columns[2], uint16_t ask)
{
    struct hostile hostile;
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 1000);

    begin(&hostile, table, 2);
    add(&hostile, (struct entry){columns[0], 5, 0, 0, 0, quad, quad}, blob, quad);
    add(&hostile, (struct entry){columns[1], 6, 0, 0, 0, quad, quad}, blob, quad);
    return verdict(&hostile, ask, false);
}

TEST("hostile table: starts and durations are nested together, nothing else is")
{
    const uint16_t both[2] = {0, 1}, turned[2] = {1, 0}, others[2] = {1, 2};

    for (uint16_t ask = 0; ask < 2; ask++) {
        is_int(nested_verdict(TABLE_SPAN, both, ask), 0);
        is_int(nested_verdict(TABLE_SPAN, turned, ask), 0);
        is_int(nested_verdict(TABLE_STEP, both, ask), 0);
        is_int(nested_verdict(TABLE_SPAN, others, ask), GAIT_ERR_FORMAT);
        is_int(nested_verdict(TABLE_DROP, both, ask), GAIT_ERR_FORMAT);
        is_int(nested_verdict(TABLE_FLOW, both, ask), GAIT_ERR_FORMAT);
        is_int(nested_verdict(300, both, ask), GAIT_ERR_FORMAT); // of a table nobody knows
    }
}

TEST("hostile table: nested columns are lost with the depths they need")
{
    struct hostile hostile;
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 1000);

    for (uint16_t ask = 0; ask < 4; ask++) {
        begin(&hostile, TABLE_SPAN, 4);
        add(&hostile, (struct entry){0, 5, 0, 0, 0, quad, quad}, blob, quad);
        add(&hostile, (struct entry){1, 5, 0, 0, 0, quad, quad}, blob, quad);
        add(&hostile, (struct entry){2, 0, 0, 0, 0, quad, quad}, blob, quad);
        blob[2] |= 0x10; // a length for a row that is none
        add(&hostile, (struct entry){3, 0, 0, 0, 0, quad, quad}, blob, quad);
        blob[2] &= 0x0f;
        is_int(verdict(&hostile, ask, false), ask == 2 ? 0 : GAIT_ERR_FORMAT);
    }
}

TEST("hostile table: directories that lie about themselves are refused")
{
    struct hostile hostile;
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 7);
    const struct entry entry = {0, 0, 0, 0, 0, quad, quad};
    const uint32_t counts[] = {2, 33, 0xffffffff, 0x10000001};

    begin(&hostile, TABLE_SPAN, 2);
    add(&hostile, entry, blob, quad);
    add(&hostile, entry, blob, quad);
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT); // twice the same
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        begin(&hostile, TABLE_SPAN, 1);
        add(&hostile, entry, blob, quad);
        bytes_put32(hostile.payload, counts[i]);
        is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
    }
    begin(&hostile, TABLE_SPAN, 1);
    add(&hostile, entry, blob, quad);
    hostile.payload[4] = 1; // the zero that is none
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
    begin(&hostile, TABLE_SPAN, 1);
    add(&hostile, entry, blob, quad);
    hostile.used += 8; // a word nobody owns
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
    begin(&hostile, TABLE_SPAN, 1);
    add(&hostile, entry, blob, quad);
    hostile.payload[hostile.used] = 1; // padding that says something
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
    begin(&hostile, TABLE_SPAN, 0);
    is_int(verdict(&hostile, 0, false), 0);
    hostile.header.rows = FRAME_MAX_ROWS + 1;
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
}

TEST("hostile table: packed values must end where the blob does")
{
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 1000);

    is_int(number_verdict((struct entry){0, 0, 0, 0, 0, quad + 1, quad + 1}, blob, quad + 1),
           GAIT_ERR_FORMAT);
    blob[2] |= 0x10; // a length for row 10 of 0 to 9
    is_int(number_verdict((struct entry){0, 0, 0, 0, 0, quad, quad}, blob, quad), GAIT_ERR_FORMAT);
}

TEST("hostile table: half a byte that belongs to no row must be zero")
{
    struct hostile hostile;
    uint8_t blob[5] = {1, 2, 3, 4, 5};
    const struct entry entry = {0, 0, 4, 0, 0, 5, 5};

    begin(&hostile, TABLE_SPAN, 1);
    add(&hostile, entry, blob, 5);
    hostile.header.rows = 9;
    is_int(verdict(&hostile, 0, false), 0);
    hostile.payload[24 + 4] = 0x15;
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
}

TEST("hostile table: what is compressed must be what was promised")
{
    uint8_t raw[200] = {0}, zstd[600];
    const uint32_t quad = (uint32_t)pack(raw, 1000);
    const uint32_t whole = (uint32_t)ZSTD_compress(zstd, 300, raw, quad, 1);
    const struct entry entry = {0, 0, 0, 1, 0, quad, whole};

    is_int(number_verdict(entry, zstd, whole), 0);
    for (uint32_t cut = 1; cut < whole; cut++) {
        struct entry less = entry;
        less.stored_bytes = cut;
        is_int(number_verdict(less, zstd, cut), GAIT_ERR_FORMAT);
    }
    struct entry more = entry;
    more.stored_bytes = whole + 1;
    zstd[whole] = 0;
    is_int(number_verdict(more, zstd, whole + 1), GAIT_ERR_FORMAT);
    const uint32_t twice = (uint32_t)ZSTD_compress(zstd + whole, 300, raw, quad, 1) + whole;
    more.stored_bytes = twice;
    is_int(number_verdict(more, zstd, twice), GAIT_ERR_FORMAT);
    // An old format's magic number, and a skippable frame, are no zstd frames.
    bytes_put32(zstd, 0xfd2fb524);
    is_int(number_verdict(entry, zstd, whole), GAIT_ERR_FORMAT);
    bytes_put32(zstd, 0x184d2a50);
    is_int(number_verdict(entry, zstd, whole), GAIT_ERR_FORMAT);
}

TEST("hostile table: frames that skip, or do not state their content, are refused")
{
    uint8_t raw[200] = {0}, zstd[600];
    const uint32_t quad = (uint32_t)pack(raw, 1000);
    ZSTD_CCtx *context = ZSTD_createCCtx();

    bytes_put32(zstd, 0x184d2a50); // a skippable frame of 4 bytes in front
    bytes_put32(zstd + 4, 4);
    uint32_t stored = 12 + (uint32_t)ZSTD_compress(zstd + 12, 500, raw, quad, 1);
    is_int(number_verdict((struct entry){0, 0, 0, 1, 0, quad, stored}, zstd, stored),
           GAIT_ERR_FORMAT);

    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    stored = (uint32_t)ZSTD_compress2(context, zstd, sizeof zstd, raw, quad);
    is_int(number_verdict((struct entry){0, 0, 0, 1, 0, quad, stored}, zstd, stored),
           GAIT_ERR_FORMAT);
    ZSTD_freeCCtx(context);
}

TEST("hostile table: a blob may be several zstd frames, cut anywhere")
{
    uint8_t raw[200] = {0}, zstd[1000];
    const size_t quad = pack(raw, 1000);

    for (size_t cut = 0; cut <= quad; cut++) {
        size_t stored = ZSTD_compress(zstd, 400, raw, cut, 1);
        stored += ZSTD_compress(zstd + stored, 400, raw + cut, quad - cut, 1);
        is_int(number_verdict((struct entry){0, 0, 0, 1, 0, (uint32_t)quad, (uint32_t)stored}, zstd,
                              stored),
               0);
    }
}

TEST("hostile table: every changed byte of a compressed column is survived")
{
    uint8_t raw[200], zstd[600];
    struct random_values random = {13};
    uint64_t values[ROWS];

    for (int row = 0; row < ROWS; row++)
        values[row] = random_magnitude(&random) & 0xffffff;
    const uint32_t quad = (uint32_t)quad_encode(QUAD_8, values, ROWS, raw);
    const uint32_t whole = (uint32_t)ZSTD_compress(zstd, sizeof zstd, raw, quad, 1);
    int survived = 0;

    for (uint32_t at = 0; at < whole; at++)
        for (int change = 1; change < 256; change++) {
            zstd[at] ^= (uint8_t)change;
            (void)!number_verdict((struct entry){0, 0, 0, 1, 0, quad, whole}, zstd, whole);
            zstd[at] ^= (uint8_t)change;
            survived++;
        }
    is_int(survived, (int)whole * 255);
}

static int text_verdict(const uint8_t *blob, uint32_t bytes, uint8_t transform)
{
    struct hostile hostile;

    begin(&hostile, TABLE_LOG, 1);
    add(&hostile, (struct entry){2, transform, 2, 0, 0, bytes, bytes}, blob, bytes);
    return verdict(&hostile, 2, true);
}

TEST("hostile table: rows of bytes must add up to the blob")
{
    uint8_t blob[300] = {0};
    const uint32_t lengths = (uint32_t)pack(blob + 4, 5), whole = 4 + lengths + 50;

    bytes_put32(blob, lengths);
    is_int(text_verdict(blob, whole, 0), 0);
    is_int(text_verdict(blob, whole, 1), GAIT_ERR_FORMAT); // transformed
    is_int(text_verdict(blob, whole + 1, 0), GAIT_ERR_FORMAT);
    for (uint32_t cut = 0; cut < whole; cut++)
        is_int(text_verdict(blob, cut, 0), GAIT_ERR_FORMAT);
    const uint32_t lies[] = {0, lengths - 1, lengths + 1, whole, whole - 4, UINT32_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        bytes_put32(blob, lies[i]);
        is_int(text_verdict(blob, whole, 0), GAIT_ERR_FORMAT);
    }
    const uint32_t huge = (uint32_t)pack(blob + 4, UINT64_MAX); // lengths that wrap
    bytes_put32(blob, huge);
    is_int(text_verdict(blob, 4 + huge + 50, 0), GAIT_ERR_FORMAT);
}

TEST("hostile table: lengths that wrap, end late or end early are refused")
{
    uint8_t blob[300] = {0};
    uint64_t lengths[ROWS] = {UINT64_MAX - 9, 60}; // 50 in all, if nobody looks
    const uint32_t wrapping = (uint32_t)quad_encode(QUAD_8, lengths, ROWS, blob + 4);

    bytes_put32(blob, wrapping);
    is_int(text_verdict(blob, 4 + wrapping + 50, 0), GAIT_ERR_FORMAT);

    const uint32_t exact = (uint32_t)pack(blob + 4, 5);
    bytes_put32(blob, exact + 1); // one byte between the lengths and the rows
    is_int(text_verdict(blob, 4 + exact + 1 + 50, 0), GAIT_ERR_FORMAT);

    memset(blob + 4, 0xff, 2); // lengths of eight bytes each, far past the end
    blob[6] = 0x0f;
    bytes_put32(blob, 200);
    is_int(text_verdict(blob, 20, 0), GAIT_ERR_FORMAT);
}

TEST("hostile table: the blobs of a frame without rows are checked like others")
{
    const struct entry good[] = {
        {0, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0, 0}, {0, 0, 3, 0, 0, 8, 8}, {0, 0, 4, 0, 0, 0, 0}};
    const uint8_t blob[16] = {0};
    struct hostile hostile;

    for (size_t i = 0; i < 4; i++) {
        begin(&hostile, TABLE_SPAN, 1);
        add(&hostile, good[i], blob, good[i].stored_bytes);
        hostile.header.rows = 0;
        is_int(verdict(&hostile, 0, false), 0);
    }
    begin(&hostile, TABLE_SPAN, 1);
    add(&hostile, (struct entry){0, 0, 3, 1, 0, 8, 16}, blob, 16); // no zstd at all
    hostile.header.rows = 0;
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
}

TEST("hostile table: a column that is not known is passed over, whatever it says")
{
    struct hostile hostile;
    uint8_t blob[200] = {0};
    const uint32_t quad = (uint32_t)pack(blob, 3);

    begin(&hostile, TABLE_SPAN, 2);
    add(&hostile, (struct entry){20, 99, 98, 97, 0, 12345, 16}, blob, 16);
    add(&hostile, (struct entry){0, 0, 0, 0, 0, quad, quad}, blob, quad);
    is_int(verdict(&hostile, 0, false), 0);
    is_int(verdict(&hostile, 20, false), GAIT_ERR_FORMAT);
    is_int(verdict(&hostile, 20, true), GAIT_ERR_FORMAT);
    is_int(verdict(&hostile, 32, false), GAIT_ERR_ARGUMENT);
    is_int(verdict(&hostile, 32, true), GAIT_ERR_ARGUMENT);
}

TEST("hostile table: a promise of 64 MiB in few bytes takes no memory")
{
    struct hostile hostile;
    uint8_t blob[16] = {0};

    // No frame stands for that much.
    begin(&hostile, 300, 1);
    add(&hostile, (struct entry){0, 0, 0, 1, 0, FRAME_MAX_RAW, 16}, blob, 16);
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
    is_str(fail_text(), "40 bytes cannot stand for columns of 67108864");
    // Rows do not go with it: refused before anything is taken.
    begin(&hostile, 300, 1);
    add(&hostile, (struct entry){0, 0, 0, 1, 0, 4 << 20, 16}, blob, 16);
    is_int(verdict(&hostile, 0, false), GAIT_ERR_FORMAT);
    ok(strstr(fail_text(), "does not fit the rows") != NULL);
}
