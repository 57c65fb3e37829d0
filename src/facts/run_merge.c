// SPDX-License-Identifier: Apache-2.0
// Neighbours are merged until one run is left. Most follow each other in time: those are
// joined as they stand.
#include "facts/run_merge.h"

#include <string.h>

static void merge_two(struct fact_row *to, const struct fact_row *left, size_t left_count,
                      const struct fact_row *right, size_t right_count)
{
    const struct fact_row *left_end = left + left_count, *right_end = right + right_count;
    while (left < left_end && right < right_end)
        *to++ = fact_row_is_before(right, left) ? *right++ : *left++;
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    to += left_end - left;
    memcpy(to, right, (size_t)(right_end - right) * sizeof *to);
}

static size_t join_followers(const struct fact_row *rows, size_t *ends, size_t runs)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs; i++) {
        const size_t from = i ? ends[i - 1] : 0;
        const bool follows = kept && (!from || from == ends[i] || // nothing stands before, or in it
                                      !fact_row_is_before(&rows[from], &rows[from - 1]));
        ends[kept - follows] = ends[i];
        kept += !follows;
    }
    return kept;
}

void run_merge(struct fact_row *rows, struct fact_row *room, size_t *ends, size_t runs)
{
    struct fact_row *from = rows, *to = room;
    runs = join_followers(rows, ends, runs);
    while (runs > 1) {
        size_t made = 0, start = 0;
        for (size_t i = 0; i < runs; i += 2) {
            const size_t middle = ends[i], end = i + 1 < runs ? ends[i + 1] : middle;
            merge_two(&to[start], &from[start], middle - start, &from[middle], end - middle);
            ends[made++] = start = end;
        }
        struct fact_row *merged = to;
        to = from;
        from = merged;
        runs = made;
    }
    if (from != rows && runs)
        memcpy(rows, from, ends[0] * sizeof *rows);
}
