// SPDX-License-Identifier: Apache-2.0
// A thread that runs code in a second interpreter of its process has a state in each,
// and both have frames: those of the inner one stand on those of the outer one, which
// called it. They are one stack of one thread.
#ifndef GAIT_SAMPLE_THREAD_LAYERS_H
#define GAIT_SAMPLE_THREAD_LAYERS_H

#include "sample/look/python_process.h"

// Older interpreters' states first: stacks are told before those that stand on them.
void thread_layers_sort(struct python_process *process);

// After a look, before its stacks are told: which state stands on which. Puts them in
// that order, too, where the look tells.
void thread_layers_link(struct python_process *process);

// After they were: of each thread the innermost state that runs something stands for it.
void thread_layers_cover(struct python_process *process);

// There is one interpreter again.
void thread_layers_clear(struct python_process *process);

// Of a state that is gone.
void thread_layers_unlink(struct python_process *process, const struct python_thread *thread);

// The node that the thread's outermost frame is a child of.
uint32_t thread_layers_foot(const struct python_thread *thread);

// Whether these are states of one thread: who was given the lock by the one may run by
// the other.
bool thread_layers_is_one(const struct python_process *process, const struct python_thread *a,
                          const struct python_thread *b);

// The state that was there first.
struct python_thread *thread_layers_first(struct python_thread *thread);

#endif
