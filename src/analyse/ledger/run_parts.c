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
    struct run_parts *parts;
    size_t last; // number of the gap behind the last step
};

static int add_piece(const struct torch_piece *piece, void *context)
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
    gaps->parts->parts[part] += piece->ns;
    return GAIT_OK;
}

int run_parts_find(struct run_parts *parts, const struct training_thread *thread,
                   const struct intervals *steps, const struct interval *life)
{
    const size_t count = steps->count;
    *parts = (struct run_parts){.total_ns = 0};
    if (!count)
        return GAIT_OK;
    struct intervals between = {.count = count + 1, .capacity = count + 1};
    between.rows = malloc((count + 1) * sizeof *between.rows);
    if (!between.rows)
        return fail(GAIT_ERR_MEMORY, "no memory for what lies between %zu steps", count);
    const struct interval *first = &steps->rows[0], *last = &steps->rows[count - 1];
    int64_t at_ns = life->start_ns < first->start_ns ? life->start_ns : first->start_ns;
    int64_t end_ns = time_later(life->end_ns, last->end_ns);
    parts->total_ns = (uint64_t)end_ns - (uint64_t)at_ns;
    for (size_t i = 0; i < count; i++) {
        between.rows[i] = (struct interval){at_ns, steps->rows[i].start_ns};
        at_ns = steps->rows[i].end_ns;
        parts->parts[RUN_STEPS] += (uint64_t)at_ns - (uint64_t)steps->rows[i].start_ns;
    }
    between.rows[count] = (struct interval){at_ns, end_ns};
    struct gaps gaps = {parts, count};
    const int status = torch_ledger_split(thread, &between, add_piece, &gaps);
    free(between.rows);
    return status;
}
