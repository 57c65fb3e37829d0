// SPDX-License-Identifier: Apache-2.0
// The function tracer: one call tree for all actions and threads. Which actions
// run when a call begins is part of the call's node (its context), so that what
// an action saw is found afterwards, and actions may nest and overlap as they
// like. How the interpreter tells of calls is py_monitor.c's and py_profile.c's.
#ifndef GAIT_PY_TRACER_H
#define GAIT_PY_TRACER_H

#include "core/py_compat.h"

#include "core/py_clock.h"
#include "core/py_state.h"
#include "tracer/py_functions.h"
#include "tracer/py_stack.h"

struct trace_action {
    PyObject *name;
    uint64_t threads; // on how many it runs now
    uint64_t starts;
};

struct tracer {
    PyObject ob_base;
    struct tree tree;
    struct stack_list stacks;
    struct functions functions;
    struct tree contexts; // a path is a set of actions; its root is none
    struct tree_node *no_context;
    const struct tree_node *ambient; // what runs on any thread; NULL: nothing
    PyObject *names;                 // name -> place in `actions`
    struct trace_action **actions;
    size_t action_count, action_room;
    PyObject *hooks; // what the interpreter calls, or NULL
    PyTypeObject *hook_type, *tracing_type;
    uint64_t installed_at, idle_events;
    int is_installed, has_builtins, only_own_thread;
    int tool; // our number in sys.monitoring
    int is_removal_asked;
    int is_recorded;  // what is heard goes to the recorder, too (py_frames.h)
    uint64_t session; // of recording
};

int py_tracer_add_types(PyObject *module, struct py_state *state);

// --- frames: own time is a node's less that of its children, so neither is kept ---

static inline void tracer_push(struct stack *stack, struct tree_node *node, uint64_t now)
{
    if (__builtin_expect(stack->top == stack->limit, 0) && stack_grow(stack)) {
        stack->unstored++;
        return;
    }
    struct stack_frame *frame = ++stack->top;
    frame->node = node;
    frame->start = now;
}

static inline void tracer_pop(struct stack *stack, uint64_t now)
{
    const struct stack_frame *frame = stack->top--;
    frame->node->ticks += now - frame->start;
    frame->node->calls++;
}

// --- for those who hear of calls ---

// What calls on this thread count to; NULL: to nothing.
static inline const struct tree_node *tracer_context(const struct tracer *tracer,
                                                     const struct stack *stack)
{
    return stack->context || tracer->only_own_thread ? stack->context : tracer->ambient;
}

enum trace_verdict { TRACE_HEARD, TRACE_EXCLUDED };

// A call whose node is not the guessed one.
enum trace_verdict tracer_enter_new(struct tracer *tracer, struct stack *stack, PyObject *callable,
                                    const void *context);

// A return that is not the top frame's.
void tracer_leave_unmatched(struct tracer *tracer, struct stack *stack, const void *key,
                            uint64_t now);

// An event while nothing runs; after many the interpreter is told to stop.
void tracer_idle(struct tracer *tracer);

// `callable` is a code object or a bound C function, `key` its address in the tree.
static inline enum trace_verdict tracer_enter(struct tracer *tracer, struct stack *stack,
                                              PyObject *callable, const void *key)
{
    const void *context = tracer_context(tracer, stack);
    if (__builtin_expect(!context, 0)) {
        tracer_idle(tracer);
        return TRACE_HEARD;
    }
    struct tree_node *node = stack->top->node->guess;
    if (__builtin_expect(!node || node->key != key || node->context != context, 0))
        return tracer_enter_new(tracer, stack, callable, context);
    tracer_push(stack, node, py_clock_now());
    return TRACE_HEARD;
}

static inline void tracer_leave(struct tracer *tracer, struct stack *stack, const void *key)
{
    uint64_t now = py_clock_now();
    if (__builtin_expect(stack->top->node->key == key, 1))
        tracer_pop(stack, now);
    else
        tracer_leave_unmatched(tracer, stack, key, now);
}

// --- how events come: one of the two files has them, by the interpreter ---

// Begins and ends events on all threads. -1 and RuntimeError that says who is in
// the way.
int tracer_install(struct tracer *tracer);
void tracer_remove(struct tracer *tracer);
int tracer_add_hook_type(struct tracer *tracer);

#endif
