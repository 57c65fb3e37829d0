// SPDX-License-Identifier: Apache-2.0
// The gaps between the steps are split like the steps themselves; the phases are
// then put together to what a reader of the whole run asks for.
#include "analyse/ledger/run_parts.h"

#include <stdlib.h>

#include "analyse/ledger/torch_ledger.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/training_thread.h"
#include "base/fail.h"

const char *const run_part_names[RUN_PART_COUNT] = {
    "start-up", "steps", "evaluation", "checkpoint", "between", "after",
};

struct gaps {
    run_parts_visit *visit;
    void *context;
    size_t last; // number of the gap behind the last step
};

static int visit_piece(const struct torch_piece *piece, void *context)
{
    const struct gaps *gaps = context;
    enum run_part part = RUN_BETWEEN;
    if (piece->phase == TORCH_EVALUATION)
        part = RUN_EVALUATION;
    else if (!piece->window) // what is loaded there may be the data as well as a checkpoint
        part = RUN_START_UP;
    else if (piece->phase == TORCH_CHECKPOINT)
        part = RUN_CHECKPOINT;
    else if (piece->window == gaps->last)
        part = RUN_AFTER;
    return gaps->visit(part, piece, gaps->context);
}

int run_parts_each(const struct training_thread *thread, const struct intervals *steps,
                   const struct interval *life, run_parts_visit *visit, void *context)
{
    const size_t count = steps->count;
    if (!count)
        return GAIT_OK;
    struct intervals between = {.count = count + 1, .capacity = count + 1};
    between.rows = malloc((count + 1) * sizeof *between.rows);
    if (!between.rows)
        return fail(GAIT_ERR_MEMORY, "no memory for what lies between %zu steps", count);
    int64_t at_ns = time_earlier(life->start_ns, steps->rows[0].start_ns);
    for (size_t i = 0; i < count; i++) {
        between.rows[i] = (struct interval){at_ns, steps->rows[i].start_ns};
        at_ns = steps->rows[i].end_ns;
    }
    between.rows[count] = (struct interval){at_ns, time_later(life->end_ns, at_ns)};
    struct gaps gaps = {visit, context, count};
    const int status = torch_ledger_split(thread, &between, visit_piece, &gaps);
    free(between.rows);
    return status;
}

static int add_piece(enum run_part part, const struct torch_piece *piece, void *context)
{
    struct run_parts *parts = context;
    parts->parts[part] += piece->ns;
    return GAIT_OK;
}

int run_parts_find(struct run_parts *parts, const struct training_thread *thread,
                   const struct intervals *steps, const struct interval *life)
{
    *parts = (struct run_parts){.total_ns = 0};
    const int status = run_parts_each(thread, steps, life, add_piece, parts);
    for (size_t i = 0; i < steps->count; i++)
        parts->parts[RUN_STEPS] +=
            (uint64_t)steps->rows[i].end_ns - (uint64_t)steps->rows[i].start_ns;
    for (size_t i = 0; i < RUN_PART_COUNT; i++) // the gaps and the steps are the life, whole
        parts->total_ns += parts->parts[i];
    return status;
}
