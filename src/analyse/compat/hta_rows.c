// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/hta_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/time/lower_bound.h"
#include "base/fail.h"

enum { MOST_ROWS = 1 << 26 };

// --- names -----------------------------------------------------------------------------

static bool is_no_computation(const char *name)
{
    static const char *const starts[] = {"nccl",
                                         "Stream Wait Event",
                                         "runFunction",
                                         "hip",
                                         "job_exe",
                                         "packet",
                                         "pe_exe",
                                         "hccl",
                                         "cpum_exe_subgraph",
                                         "collective_subgraph_execution"};
    static const char *const within[] = {"Memcpy", "Memset", "dma", "Sync"};
    const char *cuda = strstr(name, "cuda");
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (foreign_begins(name, starts[i]))
            return true;
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
        if (strstr(name, within[i]))
            return true;
    return cuda && strstr(cuda, "LaunchKernel");
}

enum hta_kind hta_kind_of(const char *name)
{
    if (foreign_begins(name, "nccl") || foreign_begins(name, "hip") ||
        foreign_begins(name, "hccl") || strstr(name, "ncclKernel"))
        return HTA_COMMUNICATION;
    if (foreign_begins(name, "Memcpy") || foreign_begins(name, "Memset") ||
        foreign_begins(name, "dma"))
        return HTA_MEMORY;
    return is_no_computation(name) ? HTA_OTHER : HTA_COMPUTATION;
}

// -1: no step. Its own pattern allows blanks before and behind the #.
static int64_t step_number(const char *name)
{
    if (!foreign_begins(name, "ProfilerStep"))
        return -1;
    name += strlen("ProfilerStep");
    while (isspace((unsigned char)*name))
        name++;
    if (*name++ != '#')
        return -1;
    while (isspace((unsigned char)*name))
        name++;
    return isdigit((unsigned char)*name) ? strtoll(name, NULL, 10) : -1;
}

static bool is_step(const struct foreign_row *row)
{
    return foreign_begins(row->name, "ProfilerStep");
}

// Rows of the profiler itself go at once.
static bool is_kept(const struct foreign_row *row)
{
    return *row->category && strcmp(row->category, "Trace") != 0;
}

bool hta_row_is_of_device(const struct foreign_row *row)
{
    return (row->stream >= 0 && row->correlation >= 0) || strcmp(row->name, "Event Sync") == 0 ||
           strcmp(row->name, "Context Sync") == 0;
}

// --- correlations ----------------------------------------------------------------------

struct numbers {
    int64_t *rows;
    size_t count;
};

static int by_number(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static size_t times_in(const struct numbers *numbers, int64_t number)
{
    return number == INT64_MAX
               ? 0
               : lower_bound(numbers->rows, numbers->count, sizeof number, number + 1) -
                     lower_bound(numbers->rows, numbers->count, sizeof number, number);
}

static void sort_numbers(struct numbers *numbers)
{
    if (numbers->count)
        qsort(numbers->rows, numbers->count, sizeof *numbers->rows, by_number);
}

// --- of one rank -----------------------------------------------------------------------

struct making {
    struct hta_rank *rank;
    const struct foreign_rows *rows;
    bool is_filtered, with_last_step;
    struct numbers kept; // correlations of the calls that stay
};

static struct hta_row hta_row_of(const struct foreign_rows *rows, const struct foreign_row *row)
{
    const double start = foreign_us(rows, row->start_ns),
                 length = (double)(row->end_ns - row->start_ns) / 1000;
    return (struct hta_row){(int64_t)ceil(start), (int64_t)floor(start + length), row};
}

// Calls stay that begin before the last start of a step. A rank without steps is measured by
// the first of its calls. With the last step all calls stay: the tool compares with an end
// that it forgot to align.
static int64_t find_cut(const struct making *making)
{
    int64_t steps = INT64_MIN, calls = INT64_MAX;
    if (!making->is_filtered || making->with_last_step)
        return INT64_MAX;
    for (size_t i = 0; i < making->rows->count; i++) {
        const struct hta_row row = hta_row_of(making->rows, &making->rows->rows[i]);
        if (!is_kept(row.row) || hta_row_is_of_device(row.row))
            continue;
        calls = row.start_us < calls ? row.start_us : calls;
        if (is_step(row.row))
            steps = row.start_us > steps ? row.start_us : steps;
    }
    return steps == INT64_MIN ? calls : steps;
}

// How often a row is there then: work of a device once for each call that launched it.
static size_t times_of(const struct making *making, const struct foreign_row *row, bool is_early)
{
    if (!is_kept(row))
        return 0;
    return making->is_filtered && hta_row_is_of_device(row)
               ? times_in(&making->kept, row->correlation)
               : is_early;
}

static int take_rows(struct making *making)
{
    struct hta_rank *rank = making->rank;
    const struct foreign_rows *rows = making->rows;
    const int64_t cut_us = find_cut(making);
    size_t room = 0;
    making->kept.rows = malloc((rows->count + 1) * sizeof *making->kept.rows);
    if (!making->kept.rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu correlations", rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct hta_row row = hta_row_of(rows, &rows->rows[i]);
        if (is_kept(row.row) && !hta_row_is_of_device(row.row) && row.start_us < cut_us)
            making->kept.rows[making->kept.count++] = row.row->correlation;
    }
    sort_numbers(&making->kept);
    for (size_t i = 0; i < rows->count; i++)
        room += times_of(making, &rows->rows[i], true);
    if (room > MOST_ROWS) // each call with each kernel of its correlation
        return fail(GAIT_ERR_MEMORY, "%zu rows of one rank are more than %d", room, MOST_ROWS);
    rank->rows = malloc((room + 1) * sizeof *rank->rows);
    rank->device = malloc((room + 1) * sizeof *rank->device);
    if (!rank->rows || !rank->device)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", room);
    for (size_t i = 0; i < rows->count; i++) {
        const struct hta_row row = hta_row_of(rows, &rows->rows[i]);
        for (size_t times = times_of(making, row.row, row.start_us < cut_us); times; times--) {
            rank->rows[rank->count++] = row;
            if (row.row->stream != FOREIGN_NONE)
                rank->device[rank->device_count++] = row;
        }
    }
    return GAIT_OK;
}

static int take_steps(struct hta_rank *rank)
{
    struct numbers steps = {malloc((rank->count + 1) * sizeof *steps.rows), 0};
    rank->steps = steps.rows;
    if (!steps.rows)
        return fail(GAIT_ERR_MEMORY, "no memory for the steps");
    for (size_t i = 0; i < rank->count; i++)
        if (!hta_row_is_of_device(rank->rows[i].row) && step_number(rank->rows[i].row->name) >= 0)
            steps.rows[steps.count++] = step_number(rank->rows[i].row->name);
    sort_numbers(&steps);
    for (size_t i = 0; i < steps.count; i++)
        if (!rank->step_count || steps.rows[rank->step_count - 1] != steps.rows[i])
            rank->steps[rank->step_count++] = steps.rows[i];
    return GAIT_OK;
}

static int take_step_spans(struct making *making)
{
    struct hta_rank *rank = making->rank;
    size_t count = 0;
    for (size_t i = 0; i < making->rows->count; i++)
        count += is_step(&making->rows->rows[i]);
    rank->step_spans = malloc((count + 1) * sizeof *rank->step_spans);
    if (!rank->step_spans)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", count);
    for (size_t i = 0; i < making->rows->count; i++) {
        const struct hta_row row = hta_row_of(making->rows, &making->rows->rows[i]);
        if (is_step(row.row))
            rank->step_spans[rank->step_span_count++] =
                (struct hta_step){row.start_us, row.end_us, step_number(row.row->name)};
    }
    return GAIT_OK;
}

static int take_launched(struct making *making)
{
    struct hta_rank *rank = making->rank;
    struct numbers launched = {malloc((making->rows->count + 1) * sizeof *launched.rows), 0};
    rank->launched = launched.rows;
    if (!launched.rows)
        return fail(GAIT_ERR_MEMORY, "no memory for the correlations");
    for (size_t i = 0; i < making->rows->count; i++)
        if (hta_row_is_of_device(&making->rows->rows[i]) && making->rows->rows[i].correlation >= 0)
            launched.rows[launched.count++] = making->rows->rows[i].correlation;
    sort_numbers(&launched);
    rank->launched_count = launched.count;
    return GAIT_OK;
}

// --- of the run ------------------------------------------------------------------------

// It filters where the ranks together have steps of two names.
static bool has_two_steps(const struct foreign_run *foreign)
{
    const char *first = NULL;
    for (size_t i = 0; i < foreign->count; i++)
        for (size_t at = 0; at < foreign->ranks[i].count; at++) {
            const struct foreign_row *row = &foreign->ranks[i].rows[at];
            if (is_step(row) && first && strcmp(first, row->name) != 0)
                return true;
            if (is_step(row))
                first = row->name;
        }
    return false;
}

static int by_rank(const void *left, const void *right)
{
    const struct hta_rank *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void find_first(struct hta_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct hta_rank *rank = &run->ranks[i];
        uint32_t first_track = UINT32_MAX; // tracks stand in the order of the file
        for (size_t at = 0; at < rank->foreign->count; at++) {
            const struct hta_row row = hta_row_of(rank->foreign, &rank->foreign->rows[at]);
            if (!is_kept(row.row))
                continue;
            run->first_us = row.start_us < run->first_us ? row.start_us : run->first_us;
            if (row.row->stream != FOREIGN_NONE || row.row->track >= first_track)
                continue;
            first_track = row.row->track;
            rank->first_call_us = row.start_us;
        }
    }
}

int hta_run_make(struct hta_run *run, const struct foreign_run *foreign, bool with_last_step)
{
    const bool is_filtered = has_two_steps(foreign);
    int status = GAIT_OK;
    *run = (struct hta_run){.ranks = calloc(foreign->count + 1, sizeof *run->ranks),
                            .first_us = INT64_MAX};
    if (!run->ranks)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", foreign->count);
    for (size_t i = 0; i < foreign->count && !status; i++) {
        const struct foreign_rows *rows = &foreign->ranks[i];
        struct making making = {
            &run->ranks[run->count++], rows, is_filtered, with_last_step, {NULL, 0}};
        making.rank->foreign = rows;
        making.rank->rank = rows->shard.rank < 0 ? 0 : rows->shard.rank;
        status = take_rows(&making);
        if (!status)
            status = take_steps(making.rank);
        if (!status)
            status = take_step_spans(&making);
        if (!status)
            status = take_launched(&making);
        free(making.kept.rows);
    }
    find_first(run);
    if (!status)
        qsort(run->ranks, run->count, sizeof *run->ranks, by_rank);
    else
        hta_run_finish(run);
    return status;
}

void hta_run_finish(struct hta_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        free(run->ranks[i].rows);
        free(run->ranks[i].device);
        free(run->ranks[i].steps);
        free(run->ranks[i].step_spans);
        free(run->ranks[i].launched);
    }
    free(run->ranks);
    *run = (struct hta_run){.ranks = NULL};
}
