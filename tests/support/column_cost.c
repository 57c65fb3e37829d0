// SPDX-License-Identifier: Apache-2.0
// What the columns of a span frame cost: time to encode and to decode, bytes a
// row. The stream is synthetic and nested, with sites that repeat as those of a
// training loop do; docs/decisions/0001-columns.md cites its figures. Times are
// CPU time of the thread, the best of several rounds.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fail.h"
#include "format/table_reader.h"
#include "format/table_writer.h"
#include "support/quad_whole.h"
#include "support/random_values.h"

enum { SPANS = 1 << 20, ROUNDS = 7, DEPTHS = 5, COLUMNS = 4, PROGRAM = 400 };

struct span {
    uint64_t start, duration, site, depth;
};

struct bench {
    uint64_t *columns[COLUMNS], *decoded;
    struct buffer out;
    struct table_writer writer;
    struct table_reader reader;
    bool is_nested;
};

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void stop(const char *what)
{
    fprintf(stderr, "column_cost: %s: %s\n", what, fail_text());
    exit(1);
}

static int compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

// Spans as they end, in frames of `rows`, each sorted by start.
static void make_spans(struct span *spans, size_t rows)
{
    struct random_values random = {88172645463325252u};
    struct span open[DEPTHS];
    uint64_t tick = 1ull << 50, program[PROGRAM];
    size_t ended = 0, next = 0, depth = 0;

    for (size_t i = 0; i < PROGRAM; i++)
        program[i] = 1 + random_below(&random, 180);
    while (ended < SPANS) {
        const bool is_long = random_below(&random, 16) == 0;
        if (depth < DEPTHS && (depth == 0 || random_below(&random, 100) < 55)) {
            tick += 200 + random_below(&random, 8000) * (is_long ? 11 : 1);
            open[depth] = (struct span){tick, 0, program[next++ % PROGRAM], depth};
            depth++;
            continue;
        }
        tick += 300 + random_below(&random, 12000) * (is_long ? 11 : 1);
        depth--;
        open[depth].duration = tick - open[depth].start;
        spans[ended++] = open[depth];
    }
    for (size_t row = 0; row < SPANS; row += rows)
        qsort(spans + row, rows, sizeof(*spans), compare);
}

static void encode(struct bench *bench, size_t rows)
{
    bench->out.used = 0;
    for (size_t row = 0; row < SPANS; row += rows) {
        table_begin(&bench->writer, TABLE_SPAN, 1, (uint32_t)rows);
        const uint64_t first = bench->columns[0][row];
        table_count_from(&bench->writer, first);
        table_put(&bench->writer, 2, TRANSFORM_NONE, bench->columns[2] + row);
        if (bench->is_nested)
            table_put_nested(&bench->writer, bench->columns[0] + row, bench->columns[1] + row,
                             bench->columns[3] + row);
        for (uint16_t column = 0; !bench->is_nested && column < COLUMNS; column++)
            if (column != 2)
                table_put(&bench->writer, column, column ? TRANSFORM_NONE : TRANSFORM_DELTA,
                          bench->columns[column] + row);
        if (table_end(&bench->writer, &(struct table_about){first, UINT64_MAX, 0}, NULL))
            stop("encode");
    }
}

static void decode(struct bench *bench, uint16_t columns)
{
    struct frame_header header;
    struct table_view view;

    for (size_t at = 0; at < bench->out.used; at += FRAME_HEADER_BYTES + header.stored_bytes) {
        const uint8_t *frame = bench->out.bytes + at;
        if (frame_header_read(frame, &header) ||
            !frame_payload_is_intact(&header, frame + FRAME_HEADER_BYTES) ||
            table_view_init(&view, &header, frame + FRAME_HEADER_BYTES))
            stop("decode");
        for (uint16_t column = 0; column < columns; column++)
            if (table_read(&bench->reader, &view, column, bench->decoded))
                stop("decode");
    }
}

static void measure_frames(struct bench *bench, size_t rows, int level)
{
    double encoded = 1e18, decoded = 1e18;

    bench->writer.level = level;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = cpu_ns();
        encode(bench, rows);
        const double middle = cpu_ns();
        decode(bench, 3);
        const double end = cpu_ns();
        encoded = middle - begin < encoded ? middle - begin : encoded;
        decoded = end - middle < decoded ? end - middle : decoded;
    }
    printf("%7zu rows, %s, zstd %-3s  encode 4 columns %6.2f ns/span  %5.2f B/span  "
           "decode 3 columns %6.1f M rows/s\n",
           rows, bench->is_nested ? "nested" : "plain ", level ? "on" : "off", encoded / SPANS,
           (double)bench->out.used / SPANS, SPANS / decoded * 1e3);
}

static void measure_quad(const struct bench *bench)
{
    const size_t rows = 1 << 16;
    uint8_t *packed = malloc(quad_bound(rows));
    double encoded = 1e18, decoded = 1e18;

    for (int round = 0; packed && round < 10 * ROUNDS; round++) {
        const double begin = cpu_ns();
        const size_t bytes = quad_encode(QUAD_8, bench->columns[1], rows, packed);
        const double middle = cpu_ns();
        if (quad_decode(QUAD_8, (struct slice){packed, bytes}, rows, bench->decoded, NULL))
            stop("quad");
        const double end = cpu_ns();
        encoded = middle - begin < encoded ? middle - begin : encoded;
        decoded = end - middle < decoded ? end - middle : decoded;
    }
    printf("quad: encode %.2f, decode %.2f ns/value (durations)\n", encoded / (double)rows,
           decoded / (double)rows);
    free(packed);
}

static void split(struct bench *bench, const struct span *spans)
{
    for (size_t i = 0; i < SPANS; i++) {
        bench->columns[0][i] = spans[i].start;
        bench->columns[1][i] = spans[i].duration;
        bench->columns[2][i] = spans[i].site;
        bench->columns[3][i] = spans[i].depth;
    }
}

int main(void)
{
    static struct bench bench;
    struct span *spans = malloc(SPANS * sizeof(*spans));
    const size_t sizes[] = {1 << 16, 1 << 14, 1 << 12, 1 << 10};

    for (int i = 0; i < COLUMNS; i++)
        bench.columns[i] = malloc(SPANS * sizeof(uint64_t));
    bench.decoded = malloc(SPANS * sizeof(uint64_t));
    buffer_init(&bench.out, 64 << 20);
    if (!spans || !bench.columns[COLUMNS - 1] || !bench.decoded ||
        !buffer_reserve(&bench.out, 32 << 20) ||
        table_writer_init(&bench.writer, &bench.out, 1 << 16, 0) ||
        table_reader_init(&bench.reader))
        stop("start");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        make_spans(spans, sizes[i]);
        split(&bench, spans);
        if (i == 0)
            measure_quad(&bench);
        for (int kind = 0; kind < 4; kind++) {
            bench.is_nested = kind / 2;
            measure_frames(&bench, sizes[i], 1 - kind % 2);
        }
    }
    return 0;
}
