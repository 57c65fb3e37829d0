// SPDX-License-Identifier: Apache-2.0
// An iterator that gives one batch and is dropped, as by next(iter(loader)),
// makes no epoch; nor does one that takes turns with another.
#include "analyse/steps/torch_epochs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/torch_report.h"
#include "analyse/steps/hook_facts.h"
#include "analyse/steps/training_thread.h"
#include "analyse/time/lower_bound.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_FIRST_STEPS = 1 << 24 };

void torch_epochs_finish(struct torch_epochs *epochs)
{
    if (!epochs)
        return;
    free(epochs->first_steps);
    free(epochs->wall_ns);
    *epochs = (struct torch_epochs){.count = 0};
}

// The first window that begins then or later.
static uint64_t window_at(const struct intervals *windows, int64_t at_ns)
{
    const struct interval *rows = windows->rows;
    return windows->count ? lower_bound(&rows->start_ns, windows->count, sizeof *rows, at_ns) : 0;
}

static int add_epoch(struct torch_epochs *epochs, const struct intervals *windows, int64_t at_ns)
{
    uint64_t first = window_at(windows, at_ns);
    bool is_known = epochs->count && epochs->first_steps[epochs->count - 1] >= first;
    if (first == windows->count || is_known)
        return GAIT_OK;
    return ARRAY_ADD(epochs->first_steps, epochs->count, epochs->capacity, MOST_FIRST_STEPS,
                     &first);
}

static int find_by_loops(struct torch_epochs *epochs, const struct training_thread *thread,
                         const struct intervals *windows)
{
    const struct torch_steps *steps = &thread->steps;
    const struct torch_loop *last = NULL;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < steps->count; i++) {
        if (steps->rows[i].loop == TORCH_NO_LOOP)
            continue;
        epochs->has_loops = true;
        const struct torch_loop *loop = &thread->loops.loops[steps->rows[i].loop];
        bool is_one_batch = loop->asks == 1 && !loop->is_exhausted;
        if (loop == last || is_one_batch || (last && last->last >= loop->first))
            continue;
        last = loop;
        status = add_epoch(epochs, windows, steps->rows[i].start_ns);
    }
    return status;
}

static bool is_work(const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD ||
           fact->kind == TORCH_FACT_STEP;
}

// Whose first batch is there already (Lightning fetches one ahead) has begun its
// first step, in which nothing has been done yet.
static int64_t first_begin(const struct training_thread *thread, const struct intervals *windows,
                           int64_t mark_ns)
{
    const struct hook_facts *facts = &thread->facts;
    uint64_t behind = window_at(windows, mark_ns + 1);
    if (!behind || !facts->count || mark_ns >= windows->rows[behind - 1].end_ns)
        return mark_ns;
    int64_t start_ns = windows->rows[behind - 1].start_ns;
    size_t i = lower_bound(&facts->rows->start_ns, facts->count, sizeof *facts->rows, start_ns);
    for (; i < facts->count && facts->rows[i].start_ns < mark_ns; i++)
        if (is_work(&facts->rows[i]))
            return mark_ns;
    return start_ns;
}

// How long that thread evaluated then.
static int64_t evaluation_between(const struct training_thread *thread, int64_t from_ns,
                                  int64_t to_ns)
{
    int64_t total_ns = 0;
    for (size_t i = 0; i < thread->evaluation.count; i++) {
        const struct interval *period = &thread->evaluation.rows[i];
        int64_t start_ns = period->start_ns > from_ns ? period->start_ns : from_ns;
        int64_t end_ns = period->end_ns < to_ns ? period->end_ns : to_ns;
        total_ns += end_ns > start_ns ? end_ns - start_ns : 0;
    }
    return total_ns;
}

// An epoch lasts until the next one begins. Nothing says where the last one ends: behind its
// last step it evaluates at most as long as one of the others did, since a test may follow.
static int measure_walls(struct torch_epochs *epochs, const struct training_thread *thread,
                         const struct intervals *windows)
{
    int64_t longest_ns = 0;
    const struct interval *rows = windows->rows;
    epochs->wall_ns = calloc(epochs->count + 1, sizeof *epochs->wall_ns);
    if (!epochs->wall_ns)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu epochs", epochs->count);
    for (size_t i = 0; i + 1 < epochs->count; i++) {
        const uint64_t next = epochs->first_steps[i + 1];
        int64_t evaluated_ns =
            evaluation_between(thread, rows[next - 1].end_ns, rows[next].start_ns);
        epochs->wall_ns[i] =
            (uint64_t)rows[next].start_ns - (uint64_t)rows[epochs->first_steps[i]].start_ns;
        longest_ns = evaluated_ns > longest_ns ? evaluated_ns : longest_ns;
    }
    if (!epochs->count)
        return GAIT_OK;
    const int64_t end_ns = rows[windows->count - 1].end_ns;
    int64_t behind_ns = evaluation_between(thread, end_ns, INT64_MAX);
    behind_ns = behind_ns < longest_ns ? behind_ns : longest_ns;
    epochs->wall_ns[epochs->count - 1] =
        (uint64_t)end_ns - (uint64_t)rows[epochs->first_steps[epochs->count - 1]].start_ns +
        (uint64_t)behind_ns;
    return GAIT_OK;
}

int torch_epochs_find(struct torch_epochs *epochs, const struct training_thread *thread,
                      const struct intervals *windows)
{
    int status = GAIT_OK;
    if (!thread->facts.epoch_count)
        status = find_by_loops(epochs, thread, windows);
    for (size_t i = 0; !status && i < thread->facts.epoch_count; i++)
        status = add_epoch(epochs, windows, first_begin(thread, windows, thread->facts.epochs[i]));
    return status ? status : measure_walls(epochs, thread, windows);
}

static enum note find_why(const struct torch_epochs *epochs)
{
    if (epochs->count)
        return NOTE_NONE;
    return epochs->has_loops ? NOTE_ONE_BATCH_EACH : NOTE_NO_LOADER;
}

int torch_epochs_open(const struct torch_epochs *epochs, struct arena *arena,
                      struct torch_report *torch)
{
    size_t count = epochs->count < TORCH_MOST_EPOCHS ? epochs->count : TORCH_MOST_EPOCHS;
    torch->epochs = arena_take(arena, (count + 1) * sizeof *torch->epochs);
    if (!torch->epochs)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu epochs", count);
    torch->epochs_why = find_why(epochs);
    memset(torch->epochs, 0, (count + 1) * sizeof *torch->epochs);
    for (size_t i = 0; i < count; i++) {
        torch->epochs[i].first_step = epochs->first_steps[i];
        torch->epochs[i].wall_ns = epochs->wall_ns[i];
    }
    torch->epoch_count = count;
    return GAIT_OK;
}

struct torch_epoch *torch_epochs_at(const struct torch_epochs *epochs, struct torch_report *torch,
                                    uint64_t place)
{
    size_t low = 0, high = torch->epoch_count; // how many begin there or before
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (epochs->first_steps[middle] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &torch->epochs[low - 1] : NULL;
}
