// SPDX-License-Identifier: Apache-2.0
// Of each step, stream and kernel the last long one of each rank counts; of the stream and
// kernel whose lengths differ most between the ranks, the latest starts tell who is late.
#include "analyse/compat/hta_stragglers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compat/stats.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_ROWS = 1 << 24 };

struct candidate {
    int64_t stream, step, rank, start_us;
    const char *name;
    int64_t us;
};

struct candidates {
    struct candidate *rows;
    size_t count, capacity;
};

static int by_kernel(const struct candidate *a, const struct candidate *b)
{
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_kernel_step_rank(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    const int kernels = by_kernel(a, b);
    if (kernels)
        return kernels;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->start_us < b->start_us ? -1 : a->start_us > b->start_us;
}

static int64_t step_at(const struct hta_rank *rank, int64_t at_us)
{
    int64_t step = FOREIGN_NONE;
    for (size_t i = 0; i < rank->step_span_count; i++)
        if (rank->step_spans[i].start_us <= at_us && at_us < rank->step_spans[i].end_us)
            step = rank->step_spans[i].number;
    return step;
}

struct call {
    int64_t correlation, step;
};

static int by_correlation(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static int64_t step_of(const struct call *calls, size_t count, int64_t correlation)
{
    const struct call key = {correlation, 0};
    const struct call *call =
        count ? bsearch(&key, calls, count, sizeof key, by_correlation) : NULL;
    return call ? call->step : FOREIGN_NONE;
}

struct extent {
    int64_t start_us, end_us;
};

// Rows of steps, as far as they reach; collectives among them.
static int take_rank(struct candidates *found, struct extent *all, const struct hta_rank *rank)
{
    struct call *calls = malloc((rank->count + 1) * sizeof *calls);
    size_t count = 0;
    int status = calls ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu calls", rank->count);
    for (size_t i = 0; i < rank->count && !status; i++)
        if (rank->rows[i].row->stream == FOREIGN_NONE &&
            rank->rows[i].row->correlation != FOREIGN_NONE)
            calls[count++] = (struct call){rank->rows[i].row->correlation,
                                           step_at(rank, rank->rows[i].start_us)};
    if (count)
        qsort(calls, count, sizeof *calls, by_correlation);
    for (size_t i = 0; i < rank->count && !status; i++) {
        const struct hta_row *row = &rank->rows[i];
        const int64_t stream = row->row->stream;
        const int64_t step = stream > 0 ? step_of(calls, count, row->row->correlation)
                                        : step_at(rank, row->start_us);
        if (step == FOREIGN_NONE)
            continue;
        all->start_us = row->start_us < all->start_us ? row->start_us : all->start_us;
        all->end_us = row->end_us > all->end_us ? row->end_us : all->end_us;
        if (stream <= 0 || step <= 0 || strncmp(row->row->name, "ncclKernel", 10) != 0)
            continue;
        const struct array_shape shape = {sizeof *found->rows, MOST_ROWS};
        status = array_add((void **)&found->rows, &found->count, &found->capacity,
                           &(struct candidate){stream, step, rank->rank, row->start_us,
                                               row->row->name, row->end_us - row->start_us},
                           shape);
    }
    free(calls);
    return status;
}

// Leaves the last long row of each rank in each step.
static void keep_last(struct candidates *found, double least_us)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct candidate *row = &found->rows[i];
        if ((double)row->us < least_us)
            continue;
        if (kept && !by_kernel(&found->rows[kept - 1], row) &&
            found->rows[kept - 1].step == row->step && found->rows[kept - 1].rank == row->rank)
            kept--;
        found->rows[kept++] = *row;
    }
    found->count = kept;
}

// The mean over the steps of how much the ranks differ; NAN where no step has two.
static double spread_of(const struct candidate *rows, size_t count, double *room)
{
    double sum = 0;
    size_t steps = 0;
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i; behind < count && rows[behind].step == rows[i].step; behind++)
            room[behind - i] = (double)rows[behind].us;
        const struct stats stats = stats_of(room, behind - i);
        if (stats.count > 1) {
            sum += stats.deviation;
            steps++;
        }
    }
    return steps ? sum / (double)steps : NAN;
}

struct vote {
    int64_t rank;
    size_t votes;
};

static int by_votes(const void *left, const void *right)
{
    const struct vote *a = left, *b = right;
    if (a->votes != b->votes)
        return a->votes > b->votes ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

// In each step the two that begin last get a vote.
static void vote(struct vote *votes, size_t voters, const struct candidate *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t later = 0;
        for (size_t at = 0; at < count; at++)
            later += rows[at].step == rows[i].step && rows[at].start_us > rows[i].start_us;
        for (size_t at = 0; at < voters && later < HTA_CANDIDATES; at++)
            votes[at].votes += votes[at].rank == rows[i].rank;
    }
}

static int choose(struct hta_stragglers *late, const struct hta_run *run,
                  const struct candidates *found)
{
    double *room = malloc((found->count + 1) * sizeof *room), most = -1;
    struct vote *votes = calloc(run->count + 1, sizeof *votes);
    size_t from = 0, until = 0;
    for (size_t i = 0, behind; room && i < found->count; i = behind) {
        for (behind = i;
             behind < found->count && !by_kernel(&found->rows[i], &found->rows[behind]);)
            behind++;
        const double spread = spread_of(&found->rows[i], behind - i, room);
        if (spread > most) {
            most = spread;
            from = i;
            until = behind;
        }
    }
    for (size_t i = 0; votes && i < run->count; i++)
        votes[i].rank = run->ranks[i].rank;
    if (room && votes && until > from) {
        vote(votes, run->count, &found->rows[from], until - from);
        qsort(votes, run->count, sizeof *votes, by_votes);
        for (; late->count < HTA_CANDIDATES && late->count < run->count; late->count++)
            late->ranks[late->count] = votes[late->count].rank;
    }
    free(votes);
    free(room);
    return room && votes ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", run->count);
}

int hta_stragglers_make(struct hta_stragglers *late, const struct hta_run *run)
{
    struct candidates found = {.count = 0};
    struct extent all = {.start_us = INT64_MAX, .end_us = INT64_MIN};
    size_t steps = 0;
    int status = GAIT_OK;
    *late = (struct hta_stragglers){.count = 0};
    for (size_t i = 0; i < run->count && !status; i++) {
        steps = run->ranks[i].step_count > steps ? run->ranks[i].step_count : steps;
        status = take_rank(&found, &all, &run->ranks[i]);
    }
    if (!status && found.count) {
        qsort(found.rows, found.count, sizeof *found.rows, by_kernel_step_rank);
        keep_last(&found, (double)(all.end_us - all.start_us) / (double)(steps ? steps : 1) * 0.01);
        status = choose(late, run, &found);
    }
    free(found.rows);
    return status;
}
