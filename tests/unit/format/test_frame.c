// SPDX-License-Identifier: Apache-2.0
#include "format/frame.h"
#include "support/random_values.h"
#include "support/tap.h"

static struct frame_header random_header(struct random_values *random)
{
    struct frame_header header = {
        .version = FRAME_VERSION,
        .table = (uint16_t)random_next(random),
        .rows = (uint32_t)random_below(random, FRAME_MAX_ROWS + 1),
        .stored_bytes = 8 + 8 * (uint32_t)random_below(random, FRAME_MAX_PAYLOAD / 8),
        .track = (uint32_t)random_next(random),
        .sequence = random_next(random),
        .first = random_magnitude(random),
        .payload_hash = random_next(random),
    };
    header.events = (uint32_t)random_below(random, header.rows + 1ull);
    header.last = header.first + random_magnitude(random);
    if (header.last < header.first)
        header.last = UINT64_MAX;
    return header;
}

TEST("frame: a header comes back as it was written")
{
    struct random_values random = {6};
    uint8_t bytes[FRAME_HEADER_BYTES];

    for (int round = 0; round < 1000; round++) {
        struct frame_header header = random_header(&random), got;
        frame_header_write(&header, bytes);
        is_int(frame_header_read(bytes, &got), 0);
        ok(header.version == got.version && header.table == got.table && header.rows == got.rows &&
           header.stored_bytes == got.stored_bytes && header.track == got.track &&
           header.events == got.events && header.sequence == got.sequence &&
           header.first == got.first && header.last == got.last &&
           header.payload_hash == got.payload_hash);
    }
}

TEST("frame: the bytes of a header are the ones of FORMAT.md section 1")
{
    const uint8_t expected[56 + 4] = {
        0x89, 'G',  'A', 'I', 'T', '\r', '\n', 0x1a, // magic
        1,    0,    6,   0,   7,   0,    0,    0,    // version, table, rows
        0x10, 0x02, 0,   0,   4,   3,    2,    1,    // stored_bytes, track
        9,    0,    0,   0,   0,   0,    0,    0,    // sequence
        0x0a, 0,    0,   0,   0,   0,    0,    0,    // first
        0x0b, 0,    0,   0,   0,   0,    0,    0x80, // last
        8,    7,    6,   5,   4,   3,    2,    1,    // hash
        5,    0,    0,   0,                          // events
    };
    const struct frame_header header = {.version = 1,
                                        .table = 6,
                                        .rows = 7,
                                        .stored_bytes = 0x210,
                                        .track = 0x01020304,
                                        .events = 5,
                                        .sequence = 9,
                                        .first = 10,
                                        .last = 0x800000000000000b,
                                        .payload_hash = 0x0102030405060708};
    uint8_t bytes[FRAME_HEADER_BYTES];

    frame_header_write(&header, bytes);
    ok(memcmp(bytes, expected, sizeof expected) == 0);
}

TEST("frame: XXH3-64 gives the values its authors publish")
{
    is_u64(frame_hash("", 0), 0x2d06800538d394c2);
    is_u64(frame_hash("\0\0\0\0\0\0\0\0", 0), 0x2d06800538d394c2);
}

TEST("frame: one flipped bit anywhere and a header is none")
{
    struct random_values random = {7};
    uint8_t bytes[FRAME_HEADER_BYTES];
    struct frame_header header = random_header(&random), got = {.rows = 77};

    frame_header_write(&header, bytes);
    for (int bit = 0; bit < FRAME_HEADER_BYTES * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        is_int(frame_header_read(bytes, &got), GAIT_ERR_FORMAT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    is_u64(got.rows, 77);
    is_int(frame_header_read(bytes, &got), 0);
}

// Headers that lie, with a hash that agrees.
TEST("frame: limits hold whatever the hash says")
{
    struct frame_header good = {.version = FRAME_VERSION,
                                .rows = 10,
                                .stored_bytes = 64,
                                .events = 10,
                                .first = 5,
                                .last = 5};
    struct frame_header bad[10], got;
    uint8_t bytes[FRAME_HEADER_BYTES];

    for (size_t i = 0; i < 10; i++)
        bad[i] = good;
    bad[0].version = FRAME_VERSION + 1;
    bad[1].version = 0;
    bad[2].rows = FRAME_MAX_ROWS + 1;
    bad[3].stored_bytes = FRAME_MAX_PAYLOAD + 8;
    bad[4].stored_bytes = 63;
    bad[5].stored_bytes = 0;
    bad[6].events = 11;
    bad[7].last = 4;
    bad[8].stored_bytes = UINT32_MAX - 7;
    bad[9].rows = 16384 + 256 * 64 + 1;
    frame_header_write(&good, bytes);
    is_int(frame_header_read(bytes, &got), 0);
    good.rows = 16384 + 256 * 64;
    frame_header_write(&good, bytes);
    is_int(frame_header_read(bytes, &got), 0);
    for (size_t i = 0; i < 10; i++) {
        frame_header_write(&bad[i], bytes);
        if (!is_int(frame_header_read(bytes, &got), GAIT_ERR_FORMAT))
            printf("# lie %zu\n", i);
    }
}

TEST("frame: a trailer comes back, and one flipped bit makes it none")
{
    const struct frame_trailer trailer = {0x1122334455667788, 99};
    struct frame_trailer got;
    uint8_t bytes[FRAME_TRAILER_BYTES];

    frame_trailer_write(&trailer, bytes);
    ok(memcmp(bytes, "GAITEND\n\x88\x77\x66\x55\x44\x33\x22\x11\x63\0\0\0\0\0\0\0\0\0\0\0", 28) ==
       0);
    is_int(frame_trailer_read(bytes, &got), 0);
    ok(got.index_offset == trailer.index_offset && got.frame_count == trailer.frame_count);
    for (int bit = 0; bit < FRAME_TRAILER_BYTES * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        is_int(frame_trailer_read(bytes, &got), GAIT_ERR_FORMAT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

TEST("frame: the next header is found from any offset, false ones are not")
{
    enum { BYTES = 4096 };
    uint8_t *file = calloc(1, BYTES);
    const struct frame_header header = {.version = FRAME_VERSION, .stored_bytes = 8};
    const size_t true_at[] = {0, 512, 520 + FRAME_HEADER_BYTES, BYTES - FRAME_HEADER_BYTES};

    for (size_t i = 0; i < 4; i++)
        frame_header_write(&header, file + true_at[i]);
    frame_header_write(&header, file + 1004); // not on a multiple of 8
    memcpy(file + 2000, file, 32);            // only the magic and a bit more
    for (size_t from = 0; from <= BYTES; from++) {
        size_t expected = BYTES;
        for (size_t i = 4; i-- > 0;)
            if (true_at[i] >= from)
                expected = true_at[i];
        if (!is_u64(frame_find(file, BYTES, from), expected))
            break;
    }
    is_u64(frame_find(file, FRAME_HEADER_BYTES - 1, 0), FRAME_HEADER_BYTES - 1);
    is_u64(frame_find(file, BYTES - 1, 2000), BYTES - 1);
    is_u64(frame_find(file, BYTES, SIZE_MAX), BYTES);
    is_u64(frame_find(file, 0, 0), 0);
    free(file);
}
