// SPDX-License-Identifier: Apache-2.0
#include "facts/lod_sums.h"

#include <stdlib.h>

#include "base/array.h"

enum { MOST_LANES = 1 << 24 };

void lod_sums_finish(struct lod_sums *sums)
{
    free(sums->cells);
    *sums = (struct lod_sums){.lowest = 0};
}

int lod_sums_add_lane(struct lod_sums *sums)
{
    const struct array_shape shape = {sums->levels * sizeof *sums->cells, MOST_LANES};
    const int status =
        array_reserve_zeroed((void **)&sums->cells, &sums->capacity, sums->lanes + 1, shape);
    sums->lanes += !status;
    return status;
}

// Whether the row goes on with it: in one bin, and without a gap of more than half a bin. So a bin
// has two rows at most. What the level below did not part is not parted here.
static bool goes_on(const struct lod_cell *cell, const struct lod_cell *part, unsigned level)
{
    const uint64_t half = UINT64_C(1) << (level - 1);
    if (cell->start_ns >> level != part->start_ns >> level)
        return false;
    return part->start_ns <= cell->end_ns ||
           (uint64_t)part->start_ns - (uint64_t)cell->end_ns <= half;
}

static void join(struct lod_cell *cell, const struct lod_cell *part)
{
    cell->end_ns = part->end_ns > cell->end_ns ? part->end_ns : cell->end_ns;
    cell->count += part->count;
    if (cell->is_counter) {
        cell->least = part->least < cell->least ? part->least : cell->least;
        cell->most = part->most > cell->most ? part->most : cell->most;
        cell->last = part->last;
        return;
    }
    cell->busy_ns += part->busy_ns;
    if (part->longest_ns <= cell->longest_ns)
        return;
    cell->longest_ns = part->longest_ns;
    cell->site = part->site;
}

// What does not go on with a row completes it, and the row is a part of the level above.
static int add_part(struct lod_sums *sums, uint32_t lane, unsigned at, struct lod_cell part)
{
    struct lod_cell *cells = &sums->cells[(size_t)lane * sums->levels];
    int status = GAIT_OK;
    for (; at < sums->levels && !status; at++) {
        struct lod_cell *cell = &cells[at];
        if (cell->count && goes_on(cell, &part, sums->lowest + at * LOD_STEP)) {
            join(cell, &part);
            return GAIT_OK;
        }
        const struct lod_cell whole = *cell;
        *cell = part;
        if (!whole.count)
            return GAIT_OK;
        status = sums->emit(sums->context, at, lane, &whole);
        part = whole;
    }
    return status;
}

int lod_sums_add(struct lod_sums *sums, uint32_t lane, const struct lod_cell *span)
{
    return add_part(sums, lane, 0, *span);
}

static int settle_lane(struct lod_sums *sums, uint32_t lane, int64_t until_ns, unsigned most)
{
    int status = GAIT_OK;
    for (unsigned at = 0; at <= most && !status; at++) {
        struct lod_cell *cell = &sums->cells[(size_t)lane * sums->levels + at];
        const unsigned level = sums->lowest + at * LOD_STEP;
        const bool is_due = until_ns == INT64_MAX || cell->start_ns >> level < until_ns >> level;
        if (!cell->count || !is_due)
            continue;
        const struct lod_cell whole = *cell;
        cell->count = 0;
        status = sums->emit(sums->context, at, lane, &whole);
        if (!status)
            status = add_part(sums, lane, at + 1, whole);
    }
    return status;
}

int lod_sums_settle(struct lod_sums *sums, int64_t until_ns, unsigned most)
{
    int status = GAIT_OK;
    for (size_t lane = 0; lane < sums->lanes && !status; lane++)
        status = settle_lane(sums, (uint32_t)lane, until_ns, most);
    return status;
}
