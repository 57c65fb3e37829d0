// SPDX-License-Identifier: Apache-2.0
// Memory grows when each quarter of the second half of the readings lies above the one
// before. The first half is warm-up: allocators keep what they once needed, caches fill.
// A quarter counts by its middle reading, so neither a single large step nor what an
// allocator gives back for a moment matters; and where one quarter has most of the growth,
// it happened once.
#include "analyse/cost/torch_vitals.h"

#include <stdlib.h>

#include "analyse/report/torch_report.h"
#include "base/array.h"

enum {
    MOST_READINGS = 1 << 20,
    QUARTERS = 4,
    FEWEST_A_QUARTER = 2,
    LEAST_GROWTH_BYTES = 64 << 20,
    LEAST_GROWTH_PERCENT = 5,
};

struct torch_reading_row {
    uint32_t track;
    int64_t at_ns;
    uint64_t value;
};

static int add(struct torch_counter *counter, const struct torch_reading_row *row)
{
    if (counter->count == MOST_READINGS)
        return GAIT_OK; // of no training
    return ARRAY_ADD(counter->rows, counter->count, counter->capacity, MOST_READINGS, row);
}

static int begin(void *part, const struct pass_shard *shard, void *answer)
{
    const struct torch_counters *all = answer;
    (void)shard;
    ((struct torch_counters *)part)->phases = all->phases;
    return GAIT_OK;
}

static int take_rows(void *part, const struct gait_batch *batch)
{
    struct torch_counters *counters = part;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < batch->rows; i++) {
        const enum role role = torch_phases_role(counters->phases, batch->site[i]);
        const int64_t value = batch->value[i];
        const struct torch_reading_row row = {batch->track, batch->start_ns[i], (uint64_t)value};
        if (role == ROLE_PROCESS_MEMORY && value > 0)
            status = add(&counters->memory, &row);
        else if (role == ROLE_PROCESSOR_WAIT && value >= 0)
            status = add(&counters->processor, &row);
    }
    return status;
}

static int merge_counter(struct torch_counter *all, const struct torch_counter *one)
{
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < one->count; i++)
        status = add(all, &one->rows[i]);
    return status;
}

static int merge(void *answer, void *part)
{
    struct torch_counters *all = answer;
    const struct torch_counters *one = part;
    const int status = merge_counter(&all->memory, &one->memory);
    return status ? status : merge_counter(&all->processor, &one->processor);
}

static void drop(void *part)
{
    torch_counters_finish(part);
}

void torch_counters_finish(struct torch_counters *counters)
{
    free(counters->memory.rows);
    free(counters->processor.rows);
    *counters = (struct torch_counters){.phases = NULL};
}

const struct analysis torch_counters_analysis = {
    .name = "torch counters",
    .kinds = 1u << GAIT_KIND_COUNTER,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_SITE | GAIT_COLUMN_VALUE,
    .part_bytes = sizeof(struct torch_counters),
    .begin = begin,
    .rows = take_rows,
    .merge = merge,
    .drop = drop,
};

static int by_time(const void *left, const void *right)
{
    const struct torch_reading_row *a = left, *b = right;
    RETURN_IF_APART(a->track, b->track);
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static int by_value(const void *left, const void *right)
{
    const struct torch_reading_row *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

// Those of one thread, which stand together.
static struct torch_counter of_track(const struct torch_counter *all, uint32_t track)
{
    struct torch_counter found = {.rows = NULL};
    for (size_t i = 0; i < all->count; i++) {
        if (all->rows[i].track != track)
            continue;
        if (!found.count)
            found.rows = &all->rows[i];
        found.count++;
    }
    return found;
}

// Of readings in order; a file may have them as far apart as numbers go.
static uint64_t time_between(const struct torch_reading_row *first,
                             const struct torch_reading_row *last)
{
    return (uint64_t)last->at_ns - (uint64_t)first->at_ns;
}

// The order of a quarter's own readings is lost.
static uint64_t middle_of(struct torch_reading_row *rows, size_t count)
{
    qsort(rows, count, sizeof *rows, by_value);
    return rows[count / 2].value;
}

// Each of three quarters should add a third. Readings are taken by time, and a busy machine
// makes a few steps in one quarter and many in another: a quarter of that third will do.
static bool is_steady(const uint64_t middles[QUARTERS])
{
    const uint64_t growth = middles[QUARTERS - 1] - middles[0];
    for (int i = 1; i < QUARTERS; i++)
        if (middles[i] < middles[i - 1] ||
            middles[i] - middles[i - 1] < growth / (4 * (QUARTERS - 1)))
            return false;
    return true;
}

static void find_growth(struct memory_growth *growth, const struct torch_rank *rank,
                        const struct torch_counter *readings)
{
    const size_t skipped = readings->count / 2, each = (readings->count - skipped) / QUARTERS;
    if (each < FEWEST_A_QUARTER || !rank->steps)
        return;
    const uint64_t all_ns = time_between(readings->rows, readings->rows + readings->count - 1);
    struct torch_reading_row *rows = readings->rows + (readings->count - each * QUARTERS);
    // from the middle of the first quarter to that of the last
    const uint64_t ns = time_between(rows + each / 2, rows + each * (QUARTERS - 1) + each / 2);
    const int64_t start_ns = rows->at_ns, end_ns = rows[each * QUARTERS - 1].at_ns;
    uint64_t middles[QUARTERS];
    for (size_t i = 0; i < QUARTERS; i++)
        middles[i] = middle_of(rows + each * i, each);
    const uint64_t first = middles[0], last = middles[QUARTERS - 1];
    if (last < first + LEAST_GROWTH_BYTES || last - first < first / 100 * LEAST_GROWTH_PERCENT ||
        !ns || !is_steady(middles) || last - first <= growth->bytes)
        return;
    const double steps = (double)rank->steps * (double)ns / (double)all_ns;
    *growth = (struct memory_growth){
        .is_known = true,
        .rank = rank->rank,
        .bytes = last - first,
        .to_bytes = last,
        .ns = ns,
        .track = rank->track,
        .start_ns = start_ns,
        .end_ns = end_ns,
        .a_step_bytes = steps >= 1 ? (uint64_t)((double)(last - first) / steps) : 0,
    };
}

static void find_wait(struct processor_wait *wait, const struct torch_rank *rank,
                      const struct torch_counter *readings)
{
    if (readings->count < 2)
        return;
    const struct torch_reading_row *first = readings->rows, *last = first + readings->count - 1;
    if (last->value < first->value || last->at_ns <= first->at_ns)
        return;
    const struct processor_wait found = {rank->rank, last->value - first->value,
                                         time_between(first, last)};
    if (!wait->of_ns ||
        (double)found.ns / (double)found.of_ns > (double)wait->ns / (double)wait->of_ns)
        *wait = found;
}

void torch_vitals_find(struct torch_report *torch, struct torch_counters *counters)
{
    struct torch_counter *memory = &counters->memory, *processor = &counters->processor;
    torch->vitals = (struct torch_vitals){.growth = {.is_known = false}};
    ARRAY_SORT(memory->rows, memory->count, by_time);
    ARRAY_SORT(processor->rows, processor->count, by_time);
    for (size_t i = 0; i < torch->rank_count; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        const struct torch_counter own_memory = of_track(memory, rank->track);
        const struct torch_counter own_processor = of_track(processor, rank->track);
        find_growth(&torch->vitals.growth, rank, &own_memory);
        find_wait(&torch->vitals.wait, rank, &own_processor);
    }
}
