// SPDX-License-Identifier: Apache-2.0
// Loops are judged twice: rounds that are sure tell what cannot be evaluation, and
// without evaluation a backward is a training's.
#include "analyse/steps/training_thread.h"

#include <stdbool.h>

#include "analyse/job/inventory.h"
#include "analyse/steps/hook_facts.h"
#include "analyse/steps/shard_facts.h"
#include "analyse/steps/torch_evaluation.h"
#include "analyse/steps/torch_steps.h"
#include "analyse/time/lower_bound.h"

void training_thread_init(struct training_thread *thread)
{
    hook_facts_init(&thread->facts);
    torch_loops_init(&thread->loops);
    intervals_init(&thread->evaluation);
    torch_steps_init(&thread->steps);
}

void training_thread_finish(struct training_thread *thread)
{
    if (!thread)
        return;
    hook_facts_finish(&thread->facts);
    torch_loops_finish(&thread->loops);
    intervals_finish(&thread->evaluation);
    torch_steps_finish(&thread->steps);
}

// What a step is for, or a request for its batch, begins then. Zeroing gradients is neither: where
// a loop has no loader it is the first that gait sees of a step, and windows open within it.
static bool has_work(const struct hook_facts *facts, int64_t since_ns, int64_t until_ns)
{
    if (!facts->count || since_ns >= until_ns)
        return false;
    size_t at = lower_bound(&facts->rows->start_ns, facts->count, sizeof *facts->rows, since_ns);
    while (at < facts->count &&
           (facts->rows[at].kind == TORCH_FACT_PHASE || facts->rows[at].kind == TORCH_FACT_ZERO))
        at++;
    return at < facts->count && facts->rows[at].start_ns < until_ns;
}

static void leave_out(struct torch_step *step, const struct hook_facts *facts,
                      const struct interval *pause)
{
    if (pause->start_ns > step->start_ns && !has_work(facts, pause->end_ns, step->end_ns))
        step->end_ns = pause->start_ns;
    else if (pause->end_ns < step->end_ns && !has_work(facts, step->start_ns, pause->start_ns))
        step->start_ns = pause->end_ns;
}

// While gait begins to record devices, or takes in what they did, the thread waits. That happens
// where a step ends and belongs to none: a step ends where a pause begins behind its last work,
// and begins where one before its first work ends. One in the midst of its work stays.
static void leave_out_pauses(struct torch_steps *steps, const struct hook_facts *facts)
{
    size_t at = 0;
    for (size_t i = 0; i < facts->pauses.count; i++) {
        const struct interval *pause = &facts->pauses.rows[i];
        while (at < steps->count && steps->rows[at].end_ns <= pause->start_ns)
            at++;
        for (size_t k = at; k < steps->count && steps->rows[k].start_ns < pause->end_ns; k++)
            leave_out(&steps->rows[k], facts, pause);
    }
}

int training_thread_derive(struct training_thread *thread)
{
    int status = torch_loops_find(&thread->loops, &thread->facts);
    if (status)
        return status;
    torch_rounds_mark(&thread->facts, NULL);
    torch_loops_judge(&thread->loops, &thread->facts, NULL);
    status = torch_evaluation_find(&thread->evaluation, &thread->facts, &thread->loops);
    if (status)
        return status;
    thread->steps.rounds = torch_rounds_mark(&thread->facts, &thread->evaluation);
    if (thread->steps.rounds == TORCH_ROUNDS_FORWARD)
        thread->evaluation.count = 0; // nothing learns: there is no training to leave
    torch_loops_judge(&thread->loops, &thread->facts, &thread->evaluation);
    status = torch_steps_find(&thread->steps, &thread->facts, &thread->loops, &thread->evaluation);
    if (!status)
        leave_out_pauses(&thread->steps, &thread->facts);
    return status;
}

struct reading {
    const struct inventory *survey;
    struct training_thread *thread;
    uint32_t track;
};

struct part {
    struct reading *reading;
    struct shard_facts gathered;
};

static int begin(void *opaque, const struct pass_shard *shard, void *answer)
{
    struct part *part = opaque;
    part->reading = answer;
    return shard_facts_init(&part->gathered, part->reading->survey, shard, part->reading->track);
}

static bool wants(const void *opaque, enum gait_kind kind, uint32_t track)
{
    const struct part *part = opaque;
    struct gait_track_info info;
    if (kind == GAIT_KIND_SPAN)
        return track == part->reading->track;
    return !gait_trace_track(part->gathered.shard.trace, track, &info) && !info.internal;
}

static int add_rows(void *opaque, const struct gait_batch *batch)
{
    return shard_facts_add(&((struct part *)opaque)->gathered, batch);
}

static int end(void *opaque)
{
    struct part *part = opaque;
    const struct reading *reading = part->reading;
    return shard_facts_take(&part->gathered, reading->track, &reading->thread->facts);
}

static void drop(void *opaque)
{
    shard_facts_finish(&((struct part *)opaque)->gathered);
}

static const struct analysis one_thread = {
    .name = "one thread",
    .kinds = SHARD_FACTS_KINDS,
    .columns = SHARD_FACTS_COLUMNS,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .wants = wants,
    .rows = add_rows,
    .end = end,
    .drop = drop,
};

int training_thread_read(struct training_thread *thread, struct gait_trace *trace,
                         const struct inventory *survey, uint32_t track)
{
    struct reading reading = {survey, thread, track};
    const struct pass_ask ask = {&one_thread, &reading};
    const int status = pass_run_shard(trace, survey->shard_of[track], &ask, 1);
    return status ? status : training_thread_derive(thread);
}
