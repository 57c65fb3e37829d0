// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/trace_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/torch_phases.h"

static const struct {
    const char *beginning;
    enum trace_hint hint;
} names[] = {
    {"ProfilerStep#", HINT_STEP},
    {"enumerate(DataLoader)", HINT_INPUT},
    {"Optimizer.step#", HINT_OPTIMIZER},
    {"Optimizer.zero_grad#", HINT_ZERO},
    {"nccl:", HINT_WAIT},
    {"gloo:", HINT_WAIT},
    {"c10d::", HINT_CALL},
    {"autograd::engine::evaluate_function", HINT_ENGINE},
};

enum trace_hint trace_hint_of(enum role role, const char *name)
{
    if (role == ROLE_STEP)
        return HINT_STEP;
    if (role != ROLE_OP && role != ROLE_ANNOTATION)
        return HINT_NONE;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strncmp(name, names[i].beginning, strlen(names[i].beginning)))
            return names[i].hint;
    if (role == ROLE_OP && (strstr(name, "Backward") || strstr(name, "torch::autograd::")))
        return HINT_ENGINE; // before 1.9 the nodes of the graph stood alone
    return role == ROLE_OP ? HINT_OP : HINT_NONE;
}

uint64_t trace_hint_step(const char *name)
{
    const char *sign = strchr(name, '#');
    return sign && sign[1] >= '0' && sign[1] <= '9' ? strtoull(sign + 1, NULL, 10) : 0;
}

// From the first to the last interval that begins within the step, cut off at its end; an
// empty one where there is none.
static struct interval span_of(const struct intervals *set, const struct interval *step)
{
    struct interval span = {step->end_ns, step->end_ns};
    size_t at = intervals_from(set, step->start_ns);
    while (at < set->count && set->rows[at].start_ns < step->start_ns)
        at++;
    for (bool is_first = true; at < set->count && set->rows[at].start_ns < step->end_ns; at++) {
        if (is_first)
            span.start_ns = set->rows[at].start_ns;
        span.end_ns = set->rows[at].end_ns < step->end_ns ? set->rows[at].end_ns : step->end_ns;
        is_first = false;
    }
    return span;
}

// The first op behind all input with which the step begins.
static int64_t first_op(const struct trace_marks *marks, const struct interval *step)
{
    size_t at = intervals_from(&marks->ops, step->start_ns);
    for (; at < marks->ops.count && marks->ops.rows[at].start_ns < step->end_ns; at++) {
        const int64_t start_ns = marks->ops.rows[at].start_ns;
        if (start_ns >= step->start_ns && !intervals_cover(&marks->inputs, start_ns))
            return start_ns;
    }
    return step->end_ns;
}

static int add(struct hook_facts *facts, const struct interval *span, unsigned phase,
               enum hook_fact_kind kind)
{
    const struct hook_fact fact = {.start_ns = span->start_ns,
                                   .end_ns = span->end_ns,
                                   .id = TORCH_NO_ID,
                                   .kind = (uint8_t)kind,
                                   .phase = (uint8_t)phase,
                                   .is_training = true};
    return span->end_ns > span->start_ns ? hook_facts_add(facts, &fact) : GAIT_OK;
}

// When the thread does something again, at the end of the step at the latest.
static int64_t next_op(const struct trace_marks *marks, int64_t from_ns, int64_t end_ns)
{
    size_t at = intervals_from(&marks->ops, from_ns);
    while (at < marks->ops.count && marks->ops.rows[at].start_ns < from_ns)
        at++;
    return at < marks->ops.count && marks->ops.rows[at].start_ns < end_ns
               ? marks->ops.rows[at].start_ns
               : end_ns;
}

// Lets the backward pass last as long as collectives that began in it, up to the thread's next
// op, and adds these as communication.
static int add_waits(struct hook_facts *facts, const struct intervals *waits,
                     struct interval *backward, int64_t next_ns)
{
    int status = GAIT_OK;
    for (size_t at = intervals_from(waits, backward->start_ns);
         !status && at < waits->count && waits->rows[at].start_ns < next_ns; at++) {
        const struct interval wait = {time_later(waits->rows[at].start_ns, backward->start_ns),
                                      time_earlier(waits->rows[at].end_ns, next_ns)};
        status = add(facts, &wait, TORCH_COMMUNICATION, TORCH_FACT_PHASE);
        backward->end_ns = time_later(backward->end_ns, wait.end_ns);
    }
    return status;
}

int trace_facts_add(struct hook_facts *facts, const struct trace_marks *marks,
                    const struct trace_process *process)
{
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < marks->steps.count; i++) {
        const struct interval *step = &marks->steps.rows[i];
        struct interval backward = span_of(&process->engine, step);
        const bool has_backward = backward.end_ns > backward.start_ns;
        struct interval forward = span_of(&marks->ops, step);
        forward.start_ns = first_op(marks, step);
        if (has_backward && backward.start_ns < forward.end_ns)
            forward.end_ns = backward.start_ns;
        status = add(facts, &forward, TORCH_FORWARD, TORCH_FACT_FORWARD);
        if (!status && has_backward)
            status = add_waits(facts, &process->waits, &backward,
                               next_op(marks, backward.end_ns, step->end_ns));
        if (!status)
            status = add(facts, &backward, TORCH_BACKWARD, TORCH_FACT_BACKWARD);
    }
    return status;
}
