// SPDX-License-Identifier: Apache-2.0
// From 3.13 a state has the number of the thread that runs it; of several the older
// interpreter's is taken for the caller's, as nearly always. Before, it keeps the number of
// whoever made the interpreter, though any thread may run it; but 3.11 and 3.12 tell where
// its calls lie on the C stack, and those of who called it lie right above. Up to 3.10
// nothing tells, and each state is a thread by itself.
#include "sample/look/thread_layers.h"

#include <stdlib.h>

#define STACK_MOST (8u << 20) // of C, as systems have it for a thread

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
    const uint64_t at = snapshot_read_state(&process->gather, thread, layout->thread_cframe);
    return at - thread->address < LAYOUT_THREAD_BYTES ? 0 : at;
}

static bool has_places(const struct python_process *process)
{
    return process->target.layout.thread_cframe >= 0;
}

static bool has_numbers(const struct python_process *process)
{
    return process->target.minor >= 13;
}

bool thread_layers_is_one(const struct python_process *process, const struct python_thread *a,
                          const struct python_thread *b)
{
    const bool is_told = has_places(process) || has_numbers(process);
    return a == b || (is_told && a->tid && a->tid == b->tid);
}

// What held until now was another thread's.
static void stand_on(struct python_process *process, struct python_thread *thread,
                     struct python_thread *below)
{
    if (thread->below != below)
        python_process_leave(process, thread);
    thread->below = below;
    if (!below)
        return;
    thread->is_native = below->is_native = false; // C frames of one are not put to the other's
    if (!below->tid || thread->tid == below->tid)
        return;
    thread->tid = below->tid;
    thread_probe_close(thread);
}

static int by_place(const void *a, const void *b)
{
    const struct python_thread *const *x = a, *const *y = b;
    return ((*x)->place < (*y)->place) - ((*x)->place > (*y)->place);
}

// On one C stack. At the top of a thread's lies the block that `ident` is the address of; a
// state whose thread has no other state is next to somebody else's.
static bool is_one_stack(const struct python_thread *inner, const struct python_thread *outer)
{
    const uint64_t distance = outer->place - inner->place;
    return distance < STACK_MOST && inner->ident - inner->place >= distance;
}

// Stacks of different threads do not lie between each other: who called it is next above.
static void link_by_place(struct python_process *process)
{
    struct python_thread **threads = process->threads;
    for (size_t i = 0; i < process->thread_count; i++)
        threads[i]->place = place_of(process, threads[i]);
    if (process->thread_count)
        qsort(threads, process->thread_count, sizeof(void *), by_place);
    for (size_t i = 0; i < process->thread_count; i++) {
        const bool is_called = i && threads[i]->is_inner && threads[i]->place &&
                               is_one_stack(threads[i], threads[i - 1]);
        stand_on(process, threads[i], is_called ? threads[i - 1] : NULL);
    }
}

void thread_layers_link(struct python_process *process)
{
    if (has_places(process)) {
        link_by_place(process);
        return;
    }
    for (size_t i = 0; i < process->thread_count && has_numbers(process); i++) {
        struct python_thread *thread = process->threads[i];
        stand_on(process, thread, thread->is_inner ? find_by_number(process, thread) : NULL);
    }
}

void thread_layers_unlink(struct python_process *process, const struct python_thread *thread)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i]->below == thread)
            stand_on(process, process->threads[i], NULL);
}

static void set_covered(struct python_process *process, struct python_thread *thread,
                        bool is_covered)
{
    if (thread->is_covered == is_covered)
        return;
    python_process_leave(process, thread);
    thread->is_covered = is_covered;
}

// An interpreter that nobody runs keeps the state of who made it, who may have ended.
static bool is_idle(const struct python_process *process, const struct python_thread *thread)
{
    return thread->is_inner && !thread->frame_count &&
           (!thread->tid || thread->is_absent || find_by_number(process, thread));
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
        stand_on(process, process->threads[i], NULL);
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
