// SPDX-License-Identifier: Apache-2.0
// A thread is read once, as long as the same one is asked for.
#include "analyse/steps/torch_gathering.h"

#include <stdlib.h>

#include "base/fail.h"

enum { MOST_STEPS = 1 << 25 };

int torch_gathering_no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the steps of a job");
}

int torch_gathering_read(struct torch_gathering *gathering, uint32_t track)
{
    if (gathering->track == track)
        return GAIT_OK;
    training_thread_finish(&gathering->thread);
    training_thread_init(&gathering->thread);
    gathering->track = track;
    const struct torch_report *torch = gathering->job->torch;
    return training_thread_read(&gathering->thread, gathering->trace, &torch->phases,
                                &torch->survey, track);
}

void torch_gathering_init(struct torch_gathering *gathering, struct torch_job *job,
                          struct gait_trace *trace)
{
    *gathering = (struct torch_gathering){.job = job, .trace = trace, .track = UINT32_MAX};
    buffer_init(&gathering->rows, MOST_STEPS * sizeof(struct step_row));
    training_thread_init(&gathering->thread);
}

void torch_gathering_finish(struct torch_gathering *gathering)
{
    buffer_finish(&gathering->rows);
    training_thread_finish(&gathering->thread);
    torch_epochs_finish(&gathering->epochs);
}

int torch_gathering_order(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

// Rows of one thread in order become windows. Steps cannot overlap; where a
// file says so, the later one gives way.
int torch_gathering_windows(struct step_row *rows, size_t count, struct intervals *windows)
{
    int64_t end_ns = INT64_MIN;
    windows->rows = malloc((count + 1) * sizeof *windows->rows);
    if (!windows->rows)
        return torch_gathering_no_memory();
    windows->count = windows->capacity = count;
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = rows[i].start_ns, behind_ns = start_ns + rows[i].duration_ns;
        start_ns = start_ns > end_ns ? start_ns : end_ns;
        behind_ns = behind_ns > start_ns ? behind_ns : start_ns;
        rows[i].start_ns = start_ns;
        rows[i].duration_ns = behind_ns - start_ns;
        windows->rows[i] = (struct interval){start_ns, behind_ns};
        end_ns = behind_ns;
    }
    return GAIT_OK;
}

int torch_gathering_split(const struct torch_gathering *gathering, const struct intervals *windows,
                          torch_ledger_visit *visit, void *context)
{
    const struct torch_ledger ledger = {.facts = &gathering->thread.facts,
                                        .windows = windows,
                                        .evaluation = &gathering->thread.evaluation,
                                        .visit = visit,
                                        .context = context};
    return torch_ledger_split(&ledger);
}
