// SPDX-License-Identifier: Apache-2.0
// From 3.13 a state has the number of the thread that runs it. Before, it keeps the number
// of whoever made the interpreter, though any thread may run it; but 3.11 and 3.12 tell
// where its calls lie on the C stack, and those of who called it lie right above. Up to
// 3.10 nothing tells, and each state is a thread by itself.
#include "sample/thread_layers.h"

#include <stdlib.h>

static bool is_older(const struct python_thread *thread, const struct python_thread *than)
{
    return thread->newer > than->newer;
}

static int by_age(const void *a, const void *b)
{
    const struct python_thread *const *x = a, *const *y = b;
    return is_older(*y, *x) - is_older(*x, *y);
}

void thread_layers_sort(struct python_process *process)
{
    if (process->thread_count)
        qsort(process->threads, process->thread_count, sizeof(void *), by_age);
}

// The youngest of the older ones of that thread.
static struct python_thread *find_by_number(const struct python_process *process,
                                            const struct python_thread *thread)
{
    struct python_thread *found = NULL;
    for (size_t i = 0; i < process->thread_count && thread->tid; i++) {
        struct python_thread *other = process->threads[i];
        if (other->tid == thread->tid && is_older(other, thread) &&
            (!found || is_older(found, other)))
            found = other;
    }
    return found;
}

// Where on the C stack its innermost calls are; 0: it is in none.
static uint64_t place_of(const struct python_process *process, const struct python_thread *thread)
{
    const struct layout *layout = &process->target.layout;
    const uint64_t at = gather_state(&process->gather, thread, layout->thread_cframe);
    return at - thread->address < LAYOUT_THREAD_BYTES ? 0 : at;
}

// Stacks of different threads do not lie between each other.
static struct python_thread *find_by_place(const struct python_process *process,
                                           const struct python_thread *thread)
{
    const uint64_t place = place_of(process, thread);
    struct python_thread *found = NULL;
    uint64_t nearest = UINT64_MAX;
    for (size_t i = 0; i < process->thread_count && place; i++) {
        struct python_thread *other = process->threads[i];
        const uint64_t above = place_of(process, other);
        if (above <= place || above >= nearest)
            continue;
        nearest = above;
        found = other;
    }
    return found;
}

static bool has_places(const struct python_process *process)
{
    return process->target.layout.thread_cframe >= 0;
}

static bool has_numbers(const struct python_process *process)
{
    return process->target.minor >= 13;
}

static struct python_thread *find_below(const struct python_process *process,
                                        const struct python_thread *thread)
{
    if (has_places(process))
        return find_by_place(process, thread);
    return has_numbers(process) ? find_by_number(process, thread) : NULL;
}

bool thread_layers_is_one(const struct python_process *process, const struct python_thread *a,
                          const struct python_thread *b)
{
    const bool is_told = has_places(process) || has_numbers(process);
    return a == b || (is_told && a->tid && a->tid == b->tid);
}

void thread_layers_link(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        thread->below = thread->is_inner ? find_below(process, thread) : NULL;
        if (!thread->below || !thread->below->tid || thread->tid == thread->below->tid)
            continue;
        thread->tid = thread->below->tid;
        thread_probe_close(thread); // it was another one's
    }
}

void thread_layers_unlink(struct python_process *process, const struct python_thread *thread)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i]->below == thread)
            process->threads[i]->below = NULL;
}

static void set_covered(struct python_process *process, struct python_thread *thread,
                        bool is_covered)
{
    if (thread->is_covered == is_covered)
        return;
    python_process_leave(process, thread);
    thread->is_covered = is_covered;
}

// An interpreter that nobody runs keeps the state of who made it.
static bool is_idle(const struct python_process *process, const struct python_thread *thread)
{
    return thread->is_inner && !thread->frame_count && find_by_number(process, thread);
}

void thread_layers_cover(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i]->has_inner = false;
    for (size_t i = 0; i < process->thread_count; i++) {
        const struct python_thread *thread = process->threads[i];
        struct python_thread *below = thread->frame_count ? thread->below : NULL;
        for (; below; below = below->below)
            below->has_inner = true;
    }
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        set_covered(process, thread, thread->has_inner || is_idle(process, thread));
    }
}

void thread_layers_clear(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        process->threads[i]->below = NULL;
        set_covered(process, process->threads[i], false);
    }
}

uint32_t thread_layers_foot(const struct python_thread *thread)
{
    for (const struct python_thread *below = thread->below; below; below = below->below)
        if (below->frame_count)
            return below->nodes[below->frame_count - 1];
    return thread->base;
}

struct python_thread *thread_layers_first(struct python_thread *thread)
{
    while (thread->below)
        thread = thread->below;
    return thread;
}
