// SPDX-License-Identifier: Apache-2.0
#include "format/nested_times.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { MAX_ROWS = 600 };

struct spans {
    uint64_t starts[MAX_ROWS], durations[MAX_ROWS], depths[MAX_ROWS];
    size_t rows;
};

struct nested {
    uint64_t gaps[MAX_ROWS + 1], tails[MAX_ROWS + 1];
};

// FORMAT.md section 2 word by word: of each row, which rows are between it and
// the next one of its depth, by looking at all of them. No places, no passes.
static size_t next_of_depth(const struct spans *spans, size_t row)
{
    size_t next = row + 1;

    while (next < spans->rows && spans->depths[next] % 1024 != spans->depths[row] % 1024)
        next++;
    return next;
}

static uint64_t end_of(const struct spans *spans, size_t row)
{
    return spans->starts[row] + spans->durations[row];
}

// Where the walk stands before `row`, at its depth.
static uint64_t now_before(const struct spans *spans, size_t row, uint64_t depth, uint64_t first)
{
    while (row-- > 0) {
        if (spans->depths[row] % 1024 == depth)
            return end_of(spans, row);
        if (spans->depths[row] % 1024 + 1 == depth)
            return spans->starts[row];
    }
    return first;
}

static void plain_encode(const struct spans *spans, uint64_t first, struct nested *ret)
{
    for (size_t row = 0; row < spans->rows; row++) {
        const uint64_t depth = spans->depths[row] % 1024;
        const size_t next = next_of_depth(spans, row);

        ret->gaps[row] = spans->starts[row] - now_before(spans, row, depth, first);
        ret->tails[row] = end_of(spans, row) - now_before(spans, next, depth + 1, first);
    }
}

// Both ways, and against the plain encoder.
static bool agrees(const struct spans *spans, uint64_t first)
{
    static struct nested nested, plain;
    const struct nested_rows rows = {spans->starts, spans->durations, spans->depths, spans->rows,
                                     first};
    const size_t bytes = spans->rows * sizeof(uint64_t);

    nested_times_encode(&rows, nested.gaps, nested.tails);
    plain_encode(spans, first, &plain);
    bool good = ok(memcmp(nested.gaps, plain.gaps, bytes) == 0) &&
                ok(memcmp(nested.tails, plain.tails, bytes) == 0);
    nested_times_decode(spans->depths, spans->rows, first, nested.gaps, nested.tails);
    return good && ok(memcmp(nested.gaps, spans->starts, bytes) == 0) &&
           ok(memcmp(nested.tails, spans->durations, bytes) == 0);
}

// A thread's spans in pre-order. With `hole`, every so many rows are left out,
// as those are that are still open when a frame is written.
static void fill_walk(struct random_values *random, struct spans *spans, size_t hole)
{
    const uint64_t deepest = 1 + random_below(random, 40);
    size_t open[64], depth = 0;
    uint64_t now = random_next(random) >> 2;

    spans->rows = 0;
    while (spans->rows < MAX_ROWS) {
        now += random_below(random, 3) ? random_below(random, 5000) : 0;
        if (depth && (depth == deepest || random_below(random, 2))) {
            depth--;
            if (open[depth] < MAX_ROWS)
                spans->durations[open[depth]] = now - spans->starts[open[depth]];
            continue;
        }
        const bool is_out = hole && random_below(random, hole) == 0;
        open[depth] = is_out ? MAX_ROWS : spans->rows;
        if (!is_out) {
            spans->starts[spans->rows] = now;
            spans->durations[spans->rows] = 0;
            spans->depths[spans->rows++] = depth;
        }
        depth++;
    }
    while (depth-- > 0)
        if (open[depth] < MAX_ROWS)
            spans->durations[open[depth]] = now - spans->starts[open[depth]];
}

TEST("nest: spans of a thread come back, with and without their parents")
{
    struct random_values random = {21};
    static struct spans spans;

    for (int round = 0; round < 400; round++) {
        fill_walk(&random, &spans, (size_t)(round % 4) * 7);
        spans.rows = random_below(&random, MAX_ROWS + 1);
        if (!agrees(&spans, round % 2 ? spans.starts[0] : 0))
            return;
    }
}

TEST("nest: rows that do not nest come back to the bit, whatever they are")
{
    struct random_values random = {22};
    static struct spans spans;

    for (int round = 0; round < 1000; round++) {
        const uint64_t depths = round % 3 ? 1 + random_below(&random, 6) : UINT64_MAX;
        spans.rows = random_below(&random, MAX_ROWS + 1);
        for (size_t row = 0; row < spans.rows; row++) {
            spans.starts[row] = random_magnitude(&random);
            spans.durations[row] = random_magnitude(&random);
            spans.depths[row] = random_next(&random) % depths;
            if (round % 5 == 0) // around the place where depths begin again
                spans.depths[row] = 1020 + random_below(&random, 8);
        }
        if (!agrees(&spans, random_magnitude(&random)))
            return;
    }
}

TEST("nest: what neighbours tell costs nothing")
{
    // a parent of 100 that its two children fill but for 5 at the end
    const uint64_t starts[] = {1000, 1000, 1060}, durations[] = {100, 60, 35};
    const uint64_t depths[] = {0, 1, 1}, gaps[] = {10, 0, 0}, tails[] = {5, 60, 35};
    uint64_t got_gaps[4], got_tails[4];

    nested_times_encode(&(struct nested_rows){starts, durations, depths, 3, 990}, got_gaps,
                        got_tails);
    ok(memcmp(got_gaps, gaps, sizeof gaps) == 0);
    ok(memcmp(got_tails, tails, sizeof tails) == 0);
}

TEST("nest: no depths are all depth 0")
{
    struct random_values random = {23};
    static struct spans spans;
    static struct nested flat;

    for (int round = 0; round < 100; round++) {
        fill_walk(&random, &spans, 0);
        memset(spans.depths, 0, sizeof spans.depths);
        const struct nested_rows rows = {spans.starts, spans.durations, NULL, spans.rows, 7};
        static struct nested plain;
        plain_encode(&spans, 7, &plain);
        nested_times_encode(&rows, flat.gaps, flat.tails);
        ok(memcmp(flat.gaps, plain.gaps, sizeof spans.starts) == 0);
        ok(memcmp(flat.tails, plain.tails, sizeof spans.starts) == 0);
        nested_times_decode(NULL, spans.rows, 7, flat.gaps, flat.tails);
        ok(memcmp(flat.gaps, spans.starts, sizeof spans.starts) == 0);
        ok(memcmp(flat.tails, spans.durations, sizeof spans.starts) == 0);
    }
}
