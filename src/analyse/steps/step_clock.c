// SPDX-License-Identifier: Apache-2.0
// A counter stands where a step ends and the next one begins; the first one has
// no step before it and says 0.
#include "analyse/steps/step_clock.h"

#include <stdlib.h>

#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/hook_facts.h"
#include "base/array.h"

enum { MOST_STEPS = 1 << 25 };

static int add(struct step_clock *clock, const struct clocked_step *row)
{
    return ARRAY_ADD(clock->rows, clock->count, clock->capacity, MOST_STEPS, row);
}

int step_clock_add(struct step_clock *clock, const struct torch_phases *phases,
                   const struct gait_batch *batch)
{
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < batch->rows; i++) {
        const enum role role = torch_phases_role(phases, batch->site[i]);
        struct clocked_step row = {.end_ns = batch->start_ns[i]};
        if (role == ROLE_STEP_CPU)
            row.cpu_ns = batch->value[i];
        else if (role == ROLE_STEP_WAITS && batch->value[i] > 0)
            row.waits = (uint64_t)batch->value[i];
        else
            continue;
        status = add(clock, &row);
    }
    return status;
}

static int by_end(const void *left, const void *right)
{
    const struct clocked_step *a = left, *b = right;
    RETURN_IF_APART(a->end_ns, b->end_ns);
    return (b->waits > 0) - (a->waits > 0);
}

// What has no step before it, or makes no sense, goes; the others get a start. Waits
// stand in front of the step they are of.
static void set_starts(struct step_clock *clock)
{
    size_t kept = 0;
    int64_t start_ns = 0;
    uint64_t waits = 0;
    for (size_t i = 0; i < clock->count; i++) {
        struct clocked_step row = clock->rows[i];
        if (row.waits) {
            waits = row.waits;
            continue;
        }
        row.start_ns = start_ns;
        row.waits = waits;
        start_ns = row.end_ns;
        waits = 0;
        if (row.start_ns && row.cpu_ns > 0 && row.end_ns > row.start_ns &&
            row.cpu_ns < 2 * (row.end_ns - row.start_ns))
            clock->rows[kept++] = row;
    }
    clock->count = kept;
}

void step_clock_settle(struct step_clock *clock)
{
    ARRAY_SORT(clock->rows, clock->count, by_end);
    set_starts(clock);
}

void step_clock_finish(struct step_clock *clock)
{
    free(clock->rows);
    *clock = (struct step_clock){.count = 0};
}

int step_clock_take(struct step_clock *clock, const struct intervals *steps)
{
    int status = GAIT_OK;
    *clock = (struct step_clock){.count = 0};
    for (size_t i = 0; !status && i < steps->count; i++) {
        const struct clocked_step row = {steps->rows[i].start_ns, steps->rows[i].end_ns, -1, 0,
                                         false};
        status = add(clock, &row);
    }
    return status;
}

static bool makes_odd(const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_MAKE || fact->phase == TORCH_COMPILE ||
           fact->phase == TORCH_CHECKPOINT || fact->phase == TORCH_LOGGING;
}

// Marks the steps that [start, end) touches, none of which ends before row `from`.
static size_t mark(struct step_clock *clock, size_t from, int64_t start_ns, int64_t end_ns)
{
    while (from < clock->count && clock->rows[from].end_ns <= start_ns)
        from++;
    for (size_t i = from; i < clock->count && clock->rows[i].start_ns <= end_ns; i++)
        clock->rows[i].is_odd = true;
    return from;
}

void step_clock_mark(struct step_clock *clock, const struct hook_facts *facts)
{
    size_t row = 0;
    for (size_t i = 0; i < facts->count; i++)
        if (makes_odd(&facts->rows[i]))
            row = mark(clock, row, facts->rows[i].start_ns, facts->rows[i].end_ns);
    row = 0;
    for (size_t i = 0; i < facts->mode_count; i++)
        row = mark(clock, row, facts->modes[i].start_ns, facts->modes[i].end_ns);
}
