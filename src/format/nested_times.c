// SPDX-License-Identifier: Apache-2.0
// No stack is popped and no branch depends on the data: what would stand on the
// stack stands in a place for each depth, so that a row costs a few loads and
// stores however spans open and close.
#include "format/nested_times.h"

#include <string.h>

#define PLACE(depth) ((size_t)(depth) & (NESTED_TIMES_DEPTHS - 1))

static void encode_flat(const struct nested_rows *nest, uint64_t *ret_gaps, uint64_t *ret_tails)
{
    uint64_t now = nest->first;

    for (size_t row = 0; row < nest->rows; row++) {
        ret_gaps[row] = nest->starts[row] - now;
        now = nest->starts[row] + nest->durations[row];
    }
    memcpy(ret_tails, nest->durations, nest->rows * sizeof(*ret_tails));
}

// The last row of a depth: its tail is known when the next one comes.
struct level {
    uint64_t end, row;
};

void nested_times_encode(const struct nested_rows *nest, uint64_t *ret_gaps, uint64_t *ret_tails)
{
    uint64_t
        now[NESTED_TIMES_DEPTHS + 1]; // by depth: where the last row in front of the next one ends
    struct level levels[NESTED_TIMES_DEPTHS];

    if (!nest->depths) {
        encode_flat(nest, ret_gaps, ret_tails);
        return;
    }
    for (size_t depth = 0; depth < NESTED_TIMES_DEPTHS; depth++) {
        now[depth] = nest->first;
        levels[depth] = (struct level){0, nest->rows};
    }
    now[NESTED_TIMES_DEPTHS] = nest->first;
    for (size_t row = 0; row < nest->rows; row++) {
        const size_t depth = PLACE(nest->depths[row]);
        const uint64_t start = nest->starts[row], end = start + nest->durations[row];
        struct level *level = &levels[depth];

        ret_tails[level->row] = level->end - now[depth + 1];
        *level = (struct level){end, row};
        ret_gaps[row] = start - now[depth];
        now[depth] = end;
        now[depth + 1] = start;
    }
    for (size_t depth = 0; depth < NESTED_TIMES_DEPTHS; depth++)
        ret_tails[levels[depth].row] = levels[depth].end - now[depth + 1];
}

// What the rows one deeper take is summed up from behind: when a row is met, all
// that is inside it has been.
static void add_insides(const uint64_t *depths, size_t rows, const uint64_t *gaps,
                        uint64_t *durations)
{
    uint64_t inside[NESTED_TIMES_DEPTHS + 1] = {0};

    for (size_t row = rows; row-- > 0;) {
        const size_t depth = PLACE(depths[row]);
        const uint64_t duration = durations[row] + inside[depth + 1];

        durations[row] = duration;
        inside[depth + 1] = 0;
        inside[depth] += gaps[row] + duration;
    }
}

void nested_times_decode(const uint64_t *depths, size_t rows, uint64_t first, uint64_t *starts,
                         uint64_t *durations)
{
    uint64_t now[NESTED_TIMES_DEPTHS + 1];

    if (!depths) {
        for (size_t row = 0; row < rows; row++) {
            starts[row] += first;
            first = starts[row] + durations[row];
        }
        return;
    }
    add_insides(depths, rows, starts, durations);
    for (size_t depth = 0; depth <= NESTED_TIMES_DEPTHS; depth++)
        now[depth] = first;
    for (size_t row = 0; row < rows; row++) {
        const size_t depth = PLACE(depths[row]);
        const uint64_t start = starts[row] + now[depth];

        starts[row] = start;
        now[depth] = start + durations[row];
        now[depth + 1] = start;
    }
}
