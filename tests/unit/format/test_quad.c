// SPDX-License-Identifier: Apache-2.0
#include "support/quad_whole.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { MAX_ROWS = 300 };

// The second decoder: FORMAT.md section 2 word by word, a byte at a time.
// Returns the bytes used, or -1.
static long plain_decode(enum quad_width width, struct slice in, size_t rows, uint64_t *values)
{
    const size_t longest[QUAD_WIDTH_COUNT] = {[QUAD_8] = 7, [QUAD_5] = 4, [QUAD_4] = 3};
    const size_t lengths[4] = {0, 1, 2, longest[width]};
    const uint8_t *packed = in.bytes;
    const size_t bytes = in.count;
    const size_t groups = (rows + 3) / 4;
    size_t at = groups + rows;

    for (size_t row = 0; row < groups * 4; row++) {
        if (row / 4 >= bytes)
            return -1;
        const unsigned code = packed[row / 4] >> 2 * (row % 4) & 3;
        if (row >= rows) {
            if (code)
                return -1;
            continue;
        }
        if (at + lengths[code] > bytes)
            return -1;
        values[row] = packed[groups + row];
        for (size_t i = 0; i < lengths[code]; i++)
            values[row] += (uint64_t)packed[at++] << 8 * (i + 1);
    }
    return at > bytes ? -1 : (long)at;
}

// Copies to memory of exactly that size: a sanitizer sees the first byte past.
static uint8_t *exact_copy(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count ? count : 1);

    if (copy && count)
        memcpy(copy, bytes, count);
    return copy;
}

static const uint64_t most[QUAD_WIDTH_COUNT] = {
    [QUAD_8] = UINT64_MAX, [QUAD_5] = 0xffffffffff, [QUAD_4] = 0xffffffff};

static size_t fill(struct random_values *random, enum quad_width width, uint64_t *values)
{
    const size_t rows = random_below(random, MAX_ROWS + 1);
    const uint64_t limit = random_below(random, 3) ? most[width] : 0xffff;

    for (size_t row = 0; row < rows; row++)
        values[row] = random_magnitude(random) & limit;
    return rows;
}

TEST("quad: values of every magnitude come back, by both decoders")
{
    struct random_values random = {1};
    uint64_t values[MAX_ROWS], plain[MAX_ROWS], got[MAX_ROWS];
    uint8_t out[4000];

    for (int round = 0; round < 3000; round++) {
        const enum quad_width width = (enum quad_width)(round % QUAD_WIDTH_COUNT);
        const size_t rows = fill(&random, width, values);
        const size_t length = quad_encode(width, values, rows, out);
        uint8_t *packed = exact_copy(out, length);
        size_t used = 0;

        ok(length + 8 <= quad_bound(rows));
        is_int(plain_decode(width, (struct slice){packed, length}, rows, plain), (long)length);
        is_int(quad_decode(width, (struct slice){packed, length}, rows, got, &used), 0);
        is_u64(used, length);
        ok(memcmp(values, plain, rows * sizeof *values) == 0);
        ok(memcmp(values, got, rows * sizeof *values) == 0);
        free(packed);
    }
}

TEST("quad: the limits of each length take the shortest form")
{
    const struct {
        uint64_t value;
        size_t bytes[QUAD_WIDTH_COUNT]; // 0: too large
    } cases[] = {{0, {2, 2, 2}},         {0xff, {2, 2, 2}},       {0x100, {3, 3, 3}},
                 {0xffff, {3, 3, 3}},    {0x10000, {4, 4, 4}},    {0xffffff, {4, 4, 4}},
                 {0x1000000, {9, 6, 5}}, {0xffffffff, {9, 6, 5}}, {1ull << 32, {9, 6, 0}},
                 {1ull << 39, {9, 6}},   {0xffffffffff, {9, 6}},  {1ull << 40, {9, 0}},
                 {1ull << 56, {9, 0}},   {UINT64_MAX, {9, 0}}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int width = 0; width < QUAD_WIDTH_COUNT; width++) {
            uint8_t out[64];
            uint64_t got = 1;
            const size_t bytes = cases[i].bytes[width];
            const bool is_narrowest = bytes && (width == QUAD_4 || !cases[i].bytes[width + 1]);
            is_int(is_narrowest, quad_width_for(cases[i].value) == (enum quad_width)width);
            if (!bytes)
                continue;
            is_u64(quad_encode((enum quad_width)width, &cases[i].value, 1, out), bytes);
            is_int(quad_decode((enum quad_width)width, (struct slice){out, bytes}, 1, &got, NULL),
                   0);
            is_u64(got, cases[i].value);
        }
}

TEST("quad: steps of any multiple of four give what one go gives")
{
    struct random_values random = {2};
    uint64_t values[MAX_ROWS], got[MAX_ROWS];
    uint8_t whole[4000], parts[4000];

    for (int round = 0; round < 500; round++) {
        const enum quad_width width = (enum quad_width)(round % QUAD_WIDTH_COUNT);
        const size_t rows = fill(&random, width, values);
        const size_t step = 4 + 4 * random_below(&random, 20);
        const size_t length = quad_encode(width, values, rows, whole);
        struct quad_sink sink;
        struct quad_source source;

        quad_sink_init(&sink, width, rows, parts);
        for (size_t row = 0; row < rows; row += step)
            quad_put(&sink, values + row, rows - row < step ? rows - row : step);
        is_u64((size_t)(sink.rest - parts), length);
        ok(memcmp(whole, parts, length) == 0);

        bool taken = quad_source_init(&source, width, (struct slice){whole, length}, rows) == 0;
        for (size_t row = 0; taken && row < rows; row += step)
            taken = quad_take(&source, got + row, rows - row < step ? rows - row : step);
        ok(taken && source.rest == source.end);
        ok(memcmp(values, got, rows * sizeof *values) == 0);
    }
}

TEST("quad: cut short at any byte it fails, and reads nothing past the cut")
{
    struct random_values random = {3};
    uint64_t values[MAX_ROWS], got[MAX_ROWS];
    uint8_t out[4000];

    for (int round = 0; round < 60; round++) {
        const enum quad_width width = (enum quad_width)(round % QUAD_WIDTH_COUNT);
        const size_t rows = fill(&random, width, values);
        const size_t length = quad_encode(width, values, rows, out);
        for (size_t cut = 0; cut < length; cut++) {
            uint8_t *packed = exact_copy(out, cut);
            is_int(quad_decode(width, (struct slice){packed, cut}, rows, got, NULL),
                   GAIT_ERR_FORMAT);
            free(packed);
        }
    }
}

TEST("quad: on random bytes both decoders agree, on the verdict too")
{
    struct random_values random = {4};
    uint64_t plain[MAX_ROWS], got[MAX_ROWS];
    uint8_t bytes[700];
    int valid = 0;

    for (int round = 0; round < 20000; round++) {
        const enum quad_width width = (enum quad_width)(round % QUAD_WIDTH_COUNT);
        const size_t count = random_below(&random, sizeof bytes);
        const size_t rows = random_below(&random, 100);
        const uint64_t mask = random_below(&random, 2) ? 0x55 : 0xff;
        for (size_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)(random_next(&random) & (i < (rows + 3) / 4 ? mask : 0xff));
        uint8_t *packed = exact_copy(bytes, count);
        size_t used = 0;
        const long expected = plain_decode(width, (struct slice){packed, count}, rows, plain);
        const int status = quad_decode(width, (struct slice){packed, count}, rows, got, &used);

        is_int(status, expected < 0 ? GAIT_ERR_FORMAT : 0);
        if (!status) {
            valid++;
            is_u64(used, (size_t)expected);
            ok(memcmp(plain, got, rows * sizeof *got) == 0);
        }
        free(packed);
    }
    ok(valid > 1000);
}

TEST("quad: more rows than bytes can never be read")
{
    const uint8_t bytes[16] = {0};
    uint64_t got[4];

    is_int(quad_decode(QUAD_8, (struct slice){bytes, sizeof bytes}, SIZE_MAX, got, NULL),
           GAIT_ERR_FORMAT);
    is_int(quad_decode(QUAD_8, (struct slice){bytes, sizeof bytes}, SIZE_MAX - 3, got, NULL),
           GAIT_ERR_FORMAT);
    is_int(quad_decode(QUAD_8, (struct slice){bytes, 0}, 1, got, NULL), GAIT_ERR_FORMAT);
    is_int(quad_decode(QUAD_8, (struct slice){bytes, 0}, 0, got, NULL), 0);
}
