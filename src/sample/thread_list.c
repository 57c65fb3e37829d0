// SPDX-License-Identifier: Apache-2.0
// The interpreters' lists are read while the program changes them: what is not one
// whole list is looked at again soon. A thread that ended and one that began at the
// same address are told apart by their numbers.
#include "sample/thread_list.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/os/os.h"
#include "sample/thread_id.h"

enum { THREAD_LIMIT = 16384, INTERPRETER_LIMIT = 256, STATE_BYTES = LAYOUT_THREAD_BYTES };
enum { LIST_WORDS = 3, LIST_AT_ONCE = 128 };

void thread_list_drop(struct python_process *process, size_t index)
{
    struct python_thread *thread = process->threads[index];
    python_process_leave(process, thread);
    if (process->holder == thread)
        process->holder = NULL;
    if (process->collector == thread)
        process->collector = NULL; // the next one may be made at the same address
    thread_probe_close(thread);
    python_thread_destroy(thread);
    process->threads[index] = process->threads[--process->thread_count];
}

struct python_thread *thread_list_at(const struct python_process *process, uint64_t address)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i]->address == address)
            return process->threads[i];
    return NULL;
}

static int add_thread(struct python_process *process, uint64_t address, const uint8_t *state)
{
    const struct layout *layout = &process->target.layout;
    struct python_thread *thread;
    int status =
        array_reserve((void **)&process->threads, &process->thread_room, process->thread_count + 1,
                      (struct array_shape){sizeof(void *), THREAD_LIMIT});
    if (status == 0)
        status = python_thread_create(address, &thread);
    if (status)
        return status;
    thread->ident = bytes_get64(state + layout->thread_ident);
    thread->native =
        layout->thread_native >= 0 ? (uint32_t)bytes_get64(state + layout->thread_native) : 0;
    thread->serial =
        layout->thread_serial >= 0 ? bytes_get64(state + layout->thread_serial) : 0;
    thread->since = process->round;
    thread->since_tick = process->round_tick;
    thread->is_listed = true;
    process->threads[process->thread_count++] = thread;
    process->has_dirty = true;
    return 0;
}

// Where one thread ended, another may begin at the same address.
static bool is_same_thread(const struct python_process *process, const struct python_thread *thread,
                           const uint8_t *state)
{
    const struct layout *layout = &process->target.layout;
    return thread->ident == bytes_get64(state + layout->thread_ident) &&
           (layout->thread_native < 0 ||
            thread->native == (uint32_t)bytes_get64(state + layout->thread_native)) &&
           (layout->thread_serial < 0 ||
            thread->serial == bytes_get64(state + layout->thread_serial));
}

static size_t state_bytes(const struct layout *layout)
{
    int32_t last = layout->thread_ident;
    if (layout->thread_native > last)
        last = layout->thread_native;
    if (layout->thread_serial > last)
        last = layout->thread_serial;
    return (size_t)last + 8;
}

static int list_threads(struct python_process *process, uint64_t interpreter)
{
    const struct layout *layout = &process->target.layout;
    struct memory *memory = &process->target.memory;
    uint8_t state[STATE_BYTES];
    const size_t bytes = state_bytes(layout);
    uint64_t at = memory_word(memory, interpreter + (uint64_t)layout->interpreter_threads);
    for (int i = 0; at && i < THREAD_LIMIT && bytes <= sizeof state; i++) {
        if (!memory_get(memory, at, state, bytes))
            return 0;
        struct python_thread *thread = thread_list_at(process, at);
        if (bytes_get64(state + layout->thread_interpreter) != interpreter ||
            (thread && thread->is_listed))
            return 0; // torn, or a circle: the list is looked at again soon
        // not yet begun: it has no id, hence no name and no state
        const bool is_born = bytes_get64(state + layout->thread_ident) != 0;
        if (thread && is_same_thread(process, thread, state))
            thread->is_listed = true;
        int status = 0;
        if (is_born && (!thread || !thread->is_listed))
            status = add_thread(process, at, state);
        if (status)
            return status;
        at = bytes_get64(state + layout->thread_next);
    }
    return 0;
}

// After all are listed: their numbers are found through the main thread's.
static void meet_threads(struct python_process *process)
{
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < process->thread_count; k++)
            if (!process->threads[k]->tid)
                thread_id_find(process->threads[k], &process->target);
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        if (!thread->is_met && process->enter)
            process->enter(process->context, process, thread);
        thread->is_met = true;
    }
}

int thread_list_read(struct python_process *process)
{
    struct target *target = &process->target;
    const struct layout *layout = &target->layout;
    uint8_t word[8];
    process->counts.lists++;
    // a program that is loaded at one address always looks the same under a number
    // that was used again
    if (target->start && os_process_start(target->pid) != target->start)
        return fail(GAIT_ERR_MISSING, "process %lld ended", (long long)target->pid);
    int status = attach_refresh(target);
    // what cannot be read looks like a Python that has not begun yet
    if (status != ATTACH_READY && !memory_get(&target->memory, target->runtime, word, sizeof word))
        return fail(GAIT_ERR_MISSING, "process %lld ended, or became another program",
                    (long long)target->pid);
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i]->is_listed = false;
    uint64_t interpreter = target->interpreter;
    status = 0;
    for (int i = 0; interpreter && i < INTERPRETER_LIMIT && status == 0; i++) {
        status = list_threads(process, interpreter);
        interpreter =
            memory_word(&target->memory, interpreter + (uint64_t)layout->interpreter_next);
    }
    for (size_t i = process->thread_count; i-- > 0;)
        if (!process->threads[i]->is_listed)
            thread_list_drop(process, i);
    meet_threads(process);
    process->holder = thread_list_at(process, process->gil_holder);
    return status;
}

// The thread at that address; looked for behind the one that was found before.
static size_t index_of(const struct python_process *process, uint64_t address, size_t before)
{
    for (size_t i = 1; i <= process->thread_count; i++) {
        const size_t index = (before + i) % process->thread_count;
        if (process->threads[index]->address == address)
            return index;
    }
    return process->thread_count;
}

// Whether the states that were read are one list, of all threads known and no other.
static bool is_whole_list(const struct python_process *process, const uint8_t *states, uint64_t at)
{
    const struct layout *layout = &process->target.layout;
    const size_t bytes = state_bytes(layout);
    size_t index = process->thread_count - 1;
    for (size_t i = 0; i < process->thread_count; i++) {
        index = index_of(process, at, index);
        if (index == process->thread_count)
            return false;
        const uint8_t *state = states + index * bytes;
        if (!process->threads[index]->tid ||
            bytes_get64(state + layout->thread_interpreter) != process->target.interpreter ||
            !is_same_thread(process, process->threads[index], state))
            return false;
        at = bytes_get64(state + layout->thread_next);
    }
    return at == 0;
}

static struct iovec piece_at(uint64_t address, size_t bytes)
{
    return (struct iovec){(void *)(uintptr_t)address, bytes};
}

bool thread_list_is_same(struct python_process *process)
{
    struct target *target = &process->target;
    struct memory *memory = &target->memory;
    const struct layout *layout = &target->layout;
    const size_t bytes = state_bytes(layout), count = process->thread_count;
    const size_t total = LIST_WORDS * 8 + count * bytes;
    struct iovec pieces[LIST_WORDS + LIST_AT_ONCE];
    uint8_t read[LIST_WORDS * 8 + LIST_AT_ONCE * STATE_BYTES];
    if (count == 0 || count > LIST_AT_ONCE || target->has_many || bytes > STATE_BYTES)
        return false;
    pieces[0] = piece_at(target->runtime + (uint64_t)layout->runtime_interpreters, 8);
    pieces[1] = piece_at(target->interpreter + (uint64_t)layout->interpreter_next, 8);
    pieces[2] = piece_at(target->interpreter + (uint64_t)layout->interpreter_threads, 8);
    for (size_t i = 0; i < count; i++)
        pieces[LIST_WORDS + i] = piece_at(process->threads[i]->address, bytes);
    memory->calls++;
    return memory->read(memory, read, total, pieces, LIST_WORDS + count) == (ssize_t)total &&
           bytes_get64(read) == target->interpreter && bytes_get64(read + 8) == 0 &&
           is_whole_list(process, read + LIST_WORDS * 8, bytes_get64(read + 16));
}
