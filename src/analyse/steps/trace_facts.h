// SPDX-License-Identifier: Apache-2.0
// The facts of a training from a trace of another tool, which has no hooks of gait: from the
// names that PyTorch's own profiler gives to steps, loaders, optimizers and the ops of its
// autograd engine.
#ifndef GAIT_ANALYSE_TRACE_FACTS_H
#define GAIT_ANALYSE_TRACE_FACTS_H

#include "analyse/steps/hook_facts.h"
#include "analyse/time/intervals.h"
#include "vocabulary/roles.h"

// What a span of such a trace tells of the training.
enum trace_hint {
    HINT_NONE,
    HINT_STEP,      // ProfilerStep#5
    HINT_INPUT,     // enumerate(DataLoader)#...
    HINT_OPTIMIZER, // Optimizer.step#...
    HINT_ZERO,      // Optimizer.zero_grad#...
    HINT_WAIT,      // nccl:all_reduce, gloo:..., on whichever thread
    HINT_CALL,      // c10d::allreduce_: a thread that is in it waits
    HINT_ENGINE,    // autograd::engine::evaluate_function: ..., in old traces MmBackward alone
    HINT_OP,        // any other op
};

enum trace_hint trace_hint_of(enum role role, const char *name);

// The number of a step by its name, "ProfilerStep#5" is 5; 0: it has none.
uint64_t trace_hint_step(const char *name);

// What is known of one thread. Ops and inputs are joined; steps come in any order.
struct trace_marks {
    struct intervals steps, ops, inputs;
};

// What is known of the process beside that thread; all joined.
struct trace_process {
    struct intervals engine; // ops of autograd's engine
    struct intervals waits;  // collectives that no op of the engine hides
};

// Adds the forward and the backward pass of each step to the thread's facts, which have its
// input and optimizer already. The backward pass lasts from the first to the last op of the
// engine, on whatever thread, that begins in the step, and on while a collective that began in
// it keeps the thread from its next op; such waits are communication. The forward pass lasts
// from the first op of the thread behind its input to the backward pass, or to its last op.
GAIT_CHECK int trace_facts_add(struct hook_facts *facts, const struct trace_marks *marks,
                               const struct trace_process *process);

#endif
