// SPDX-License-Identifier: Apache-2.0
#include "analyse/job/torch_processes.h"

#include <stdlib.h>

#include "analyse/job/inventory.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/training_thread.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

struct look {
    struct gait_trace *trace;
    struct torch_phases phases;
    struct inventory survey;
};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the processes of a run");
}

void torch_processes_finish(struct torch_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        free(processes->rows[i].steps);
        free(processes->rows[i].work);
        free(processes->rows[i].windows);
    }
    free(processes->rows);
    *processes = (struct torch_processes){0};
}

// From the begin of the first to the end of the last; all of a step that has none.
static struct torch_work find_work(const struct hook_facts *facts, const struct torch_step *step,
                                   size_t *fact)
{
    const struct interval period = {step->start_ns, step->end_ns};
    struct torch_work work = {step->end_ns, step->start_ns};
    const struct hook_fact *row;
    while ((row = hook_facts_next_work(facts, &period, fact))) {
        work.begin_ns = row->start_ns < work.begin_ns ? row->start_ns : work.begin_ns;
        work.end_ns = row->end_ns > work.end_ns ? row->end_ns : work.end_ns;
    }
    if (work.begin_ns >= work.end_ns)
        work = (struct torch_work){step->start_ns, step->end_ns};
    return work;
}

// Steps are numbered as in every answer: from 0.
static int find_steps(struct look *look, struct torch_process *process)
{
    struct training_thread thread;
    training_thread_init(&thread);
    int status = training_thread_read(&thread, look->trace, &look->survey, process->step_track);
    size_t count = thread.steps.count, fact = 0;
    if (!status && count) {
        process->steps = calloc(count, sizeof(*process->steps));
        process->work = calloc(count, sizeof(*process->work));
        status = process->steps && process->work ? GAIT_OK : no_memory();
    }
    for (size_t i = 0; !status && i < count; i++) {
        const struct torch_step *step = &thread.steps.rows[i];
        process->steps[i] = (struct gait_export_step){i, step->start_ns, step->end_ns};
        process->work[i] = find_work(&thread.facts, step, &fact);
    }
    process->step_count = status ? 0 : count;
    training_thread_finish(&thread);
    return status;
}

ARRAY_BY1(by_begin, struct torch_window, begin_ns)

// Whether the schedule was in the midst of its last window when the process ended.
static bool is_cut(struct gait_trace *trace, const struct torch_process *process)
{
    struct json_token token;
    const char *end = gait_trace_metadata(trace, process->shard, meta.schedule_end);
    return end && json_member(end, "is_cut", &token) == JSON_TRUE;
}

// One that never ended lasts as long as the process.
static int find_windows(struct look *look, struct torch_process *process)
{
    struct gait_shard_info shard;
    const struct inventory_shard *survey = &look->survey.shards[process->shard];
    int status = gait_trace_shard(look->trace, process->shard, &shard);
    process->windows = calloc(survey->async_count + 1, sizeof(*process->windows));
    if (!process->windows)
        return no_memory();
    for (size_t i = 0; !status && i < survey->async_count; i++) {
        const struct torch_async *async = &survey->asyncs[i];
        if (torch_phases_role(&look->phases, async->site) != ROLE_WINDOW)
            continue;
        int64_t end_ns = shard.end_ns;
        if (async->duration_ns >= 0 &&
            __builtin_add_overflow(async->start_ns, async->duration_ns, &end_ns))
            end_ns = INT64_MAX;
        process->windows[process->window_count++] =
            (struct torch_window){async->start_ns, end_ns, async->duration_ns < 0};
    }
    qsort(process->windows, process->window_count, sizeof(*process->windows), by_begin);
    if (process->window_count)
        process->windows[process->window_count - 1].is_partial |= is_cut(look->trace, process);
    return status;
}

static int add_process(struct torch_processes *processes, struct look *look, uint32_t shard)
{
    uint32_t track;
    bool has_ops = look->survey.shards[shard].events[ROLE_OP] > 0;
    bool has_steps = inventory_stepper(&look->survey, shard, &track);
    if (!has_ops && !has_steps)
        return GAIT_OK;
    struct torch_process *process = &processes->rows[processes->count++];
    process->shard = shard;
    int status = find_windows(look, process);
    if (status || !has_steps)
        return status;
    process->step_track = track;
    return look->survey.tracks[track].marked_steps ? GAIT_OK : find_steps(look, process);
}

int torch_processes_find(struct torch_processes *processes, struct gait_trace *trace)
{
    struct look look = {.trace = trace};
    *processes = (struct torch_processes){0};
    int status = torch_phases_init(&look.phases, trace);
    if (!status)
        status = inventory_make(&look.survey, trace, &look.phases);
    processes->rows = calloc((size_t)look.survey.shard_count + 1, sizeof(*processes->rows));
    if (!status && !processes->rows)
        status = no_memory();
    for (uint32_t i = 0; !status && i < look.survey.shard_count; i++)
        status = add_process(processes, &look, i);
    inventory_finish(&look.survey);
    torch_phases_finish(&look.phases);
    if (status)
        torch_processes_finish(processes);
    return status;
}
