// SPDX-License-Identifier: Apache-2.0
// Loops are judged twice: optimizer steps tell what cannot be evaluation, and
// without evaluation a backward is a training's.
#include "analyse/steps/training_thread.h"

#include "analyse/steps/torch_evaluation.h"

void training_thread_init(struct training_thread *thread)
{
    torch_facts_init(&thread->facts);
    torch_loops_init(&thread->loops);
    intervals_init(&thread->evaluation);
    torch_steps_init(&thread->steps);
}

void training_thread_finish(struct training_thread *thread)
{
    if (!thread)
        return;
    torch_facts_finish(&thread->facts);
    torch_loops_finish(&thread->loops);
    intervals_finish(&thread->evaluation);
    torch_steps_finish(&thread->steps);
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
    return torch_steps_find(&thread->steps, &thread->facts, &thread->loops, &thread->evaluation);
}

int training_thread_read(struct training_thread *thread, struct gait_trace *trace,
                         const struct torch_phases *phases, const struct torch_survey *survey,
                         uint32_t track)
{
    int status = torch_facts_read(&thread->facts, trace, phases, survey, track);
    return status ? status : training_thread_derive(thread);
}
