// SPDX-License-Identifier: Apache-2.0
// The interpreters' lists are read while the program changes them: who is missing in
// what is not one whole list has not ended for that. A thread that ended and one that
// began at the same address are told apart by their numbers.
#include "sample/look/thread_list.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/os/os.h"
#include "sample/look/thread_id.h"
#include "sample/look/thread_layers.h"

enum { THREAD_LIMIT = 16384, INTERPRETER_LIMIT = 1024, STATE_BYTES = LAYOUT_THREAD_BYTES };
enum { LIST_WORDS = 3, LIST_AT_ONCE = 128, LIST_TRIES = 4 };

void thread_list_drop(struct python_process *process, size_t index)
{
    struct python_thread *thread = process->threads[index];
    python_process_leave(process, thread);
    if (process->holder == thread)
        process->holder = NULL;
    if (process->collector == thread)
        process->collector = NULL; // the next one may be made at the same address
    if (!process->has_rule)        // several interpreters
        thread_layers_unlink(process, thread);
    thread_probe_close(thread);
    python_thread_destroy(thread);
    process->threads[index] = process->threads[--process->thread_count];
}

// The place of the thread at that address, looked for behind the one that was found
// before; thread_count: there is none.
static size_t index_of(const struct python_process *process, uint64_t address, size_t before)
{
    for (size_t i = 1; i <= process->thread_count; i++) {
        const size_t index = (before + i) % process->thread_count;
        if (process->threads[index]->address == address)
            return index;
    }
    return process->thread_count;
}

struct python_thread *thread_list_at(const struct python_process *process, uint64_t address)
{
    const size_t index = index_of(process, address, process->thread_count - 1);
    return index < process->thread_count ? process->threads[index] : NULL;
}

static uint64_t native_of(const struct layout *layout, const uint8_t *state)
{
    return layout->thread_native >= 0 ? (uint32_t)bytes_get64(state + layout->thread_native) : 0;
}

static int add_thread(struct python_process *process, uint64_t address, const uint8_t *state)
{
    const struct layout *layout = &process->target.layout;
    struct python_thread *thread;
    int status = ARRAY_RESERVE(process->threads, process->thread_room, process->thread_count + 1,
                               THREAD_LIMIT);
    if (status == 0)
        status = python_thread_create(address, &thread);
    if (status)
        return status;
    thread->ident = bytes_get64(state + layout->thread_ident);
    thread->native = native_of(layout, state);
    thread->serial = layout->thread_serial >= 0 ? bytes_get64(state + layout->thread_serial) : 0;
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
           (layout->thread_native < 0 || thread->native == native_of(layout, state)) &&
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

// The thread at that address if it is the one that has this state. One that is not has
// ended.
static struct python_thread *keep_known(struct python_process *process, uint64_t address,
                                        const uint8_t *state)
{
    const size_t index = index_of(process, address, process->thread_count - 1);
    if (index == process->thread_count)
        return NULL;
    if (is_same_thread(process, process->threads[index], state))
        return process->threads[index];
    thread_list_drop(process, index);
    return NULL;
}

enum list_result { LIST_WHOLE = 0, LIST_TORN = 1 }; // or an error

// Whether a state is in no call: of one that does not run Python, or not yet.
static bool is_idle(const struct layout *layout, uint64_t address, const uint8_t *state)
{
    if (layout->thread_frame >= 0)
        return bytes_get64(state + layout->thread_frame) == 0;
    return bytes_get64(state + layout->thread_cframe) - address < LAYOUT_THREAD_BYTES;
}

// Of one that is not known: whether it has begun. Till then it has no id, hence no name
// and no state; up to 3.11 it has the ids of the thread that makes it, and loses them one
// after the other.
static bool is_born(const struct python_process *process, uint64_t address, const uint8_t *state)
{
    const struct layout *layout = &process->target.layout;
    const uint64_t ident = bytes_get64(state + layout->thread_ident);
    if (!ident || !is_idle(layout, address, state))
        return ident;
    for (size_t i = 0; i < process->thread_count; i++) {
        const struct python_thread *other = process->threads[i];
        if (other->ident == ident ||
            (layout->thread_native >= 0 && other->native == native_of(layout, state)))
            return false;
    }
    return true;
}

// The lock of an interpreter that does not share the one of `target`, as some do from 3.12.
static uint64_t own_lock(struct target *target, uint64_t interpreter)
{
    if (target->layout.runtime_gil >= 0 || interpreter == target->interpreter)
        return 0;
    const uint64_t lock =
        memory_word(&target->memory, interpreter + (uint64_t)target->layout.interpreter_gil);
    return memory_is_address(lock) && lock != target->gil ? lock : 0;
}

// `newer`: how many interpreters are.
static int list_threads(struct python_process *process, uint64_t interpreter, uint32_t newer)
{
    const struct layout *layout = &process->target.layout;
    struct memory *memory = &process->target.memory;
    uint8_t state[STATE_BYTES];
    const size_t bytes = state_bytes(layout);
    const uint64_t lock = own_lock(&process->target, interpreter);
    const uint64_t head = interpreter + (uint64_t)layout->interpreter_threads;
    uint64_t at = memory_word(memory, head);
    if (newer < LIST_HEADS)
        process->heads[process->head_count++] = (struct list_head){head, at};
    for (int i = 0; at && i < THREAD_LIMIT && bytes <= sizeof state; i++) {
        if (!memory_get(memory, at, state, bytes) ||
            bytes_get64(state + layout->thread_interpreter) != interpreter)
            return LIST_TORN;
        struct python_thread *thread = keep_known(process, at, state);
        if (thread && thread->is_listed)
            return LIST_TORN; // a circle
        const bool is_new = !thread && is_born(process, at, state);
        const int status = is_new ? add_thread(process, at, state) : 0;
        if (status)
            return status;
        if (is_new)
            thread = process->threads[process->thread_count - 1];
        if (thread) {
            thread->is_listed = true;
            thread->newer = newer;
            thread->is_inner = interpreter != process->target.interpreter;
            thread->lock = lock;
        } else if (i == 0 && newer < LIST_HEADS) {
            process->heads[newer].first = 0; // not born yet: to be asked again
        }
        at = bytes_get64(state + layout->thread_next);
    }
    return LIST_WHOLE;
}

// All threads of all interpreters.
static int list_all(struct python_process *process)
{
    struct target *target = &process->target;
    uint64_t interpreter = target->newest;
    int status = LIST_WHOLE;
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i]->is_listed = false;
    process->head_count = 0;
    for (uint32_t i = 0; interpreter && i < INTERPRETER_LIMIT && status == LIST_WHOLE; i++) {
        status = list_threads(process, interpreter, i);
        interpreter =
            memory_word(&target->memory, interpreter + (uint64_t)target->layout.interpreter_next);
    }
    if (interpreter && status == LIST_WHOLE) // too many: the main one is the last
        status = list_threads(process, target->interpreter, INTERPRETER_LIMIT);
    return status;
}

static void drop_unlisted(struct python_process *process)
{
    for (size_t i = process->thread_count; i-- > 0;)
        if (!process->threads[i]->is_listed)
            thread_list_drop(process, i);
}

// After all are listed: their numbers are found through the main thread's.
static void meet_threads(struct python_process *process)
{
    bool has_new = false;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < process->thread_count; k++)
            if (!process->threads[k]->tid)
                thread_id_find(process->threads[k], &process->target);
    for (size_t i = 0; i < process->thread_count; i++)
        has_new = has_new || !process->threads[i]->is_met;
    if (has_new) {
        thread_names_expect(&process->names);
        thread_names_read(process, process->look_ns);
    }
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        if (!thread->is_met && process->enter)
            process->enter(process->context, process, thread);
        thread->is_met = true;
    }
}

// A program that is loaded at one address (Debian's Python is) always looks the same
// from outside: under a number that was used again, and after an exec(), too.
bool thread_list_is_of_program(const struct target *target)
{
    const struct os_program *then = &target->program;
    struct os_program now;
    if (!then->start) // no process at all: memory that a test made
        return true;
    return os_process_program(target->pid, &now) && now.start == then->start &&
           now.stack_end == then->stack_end;
}

int thread_list_read(struct python_process *process)
{
    struct target *target = &process->target;
    uint8_t word[8];
    process->counts.lists++;
    if (!thread_list_is_of_program(target))
        return fail(GAIT_ERR_MISSING, "process %lld ended, or started another program (exec)",
                    (long long)target->pid);
    int status = attach_refresh(target);
    // what cannot be read looks like a Python that has not begun yet
    if (status != ATTACH_READY && !memory_get(&target->memory, target->runtime, word, sizeof word))
        return fail(GAIT_ERR_MISSING, "process %lld ended, or started another program (exec)",
                    (long long)target->pid);
    status = LIST_TORN;
    for (int i = 0; i < LIST_TRIES && status == LIST_TORN; i++)
        status = list_all(process);
    if (status == LIST_WHOLE)
        drop_unlisted(process);
    if (target->has_many)
        thread_layers_sort(process);
    meet_threads(process);
    process->holder = thread_list_at(process, process->gil_holder);
    return status < 0 ? status : 0; // torn: the list is looked at again soon
}

// From 3.13 on a thread has a new state each time that it enters an interpreter.
bool thread_list_has_newcomer(struct python_process *process)
{
    if (!process->target.has_many || process->target.minor < 13)
        return false;
    struct memory *memory = &process->target.memory;
    struct iovec pieces[LIST_HEADS];
    uint64_t first[LIST_HEADS];
    for (uint32_t i = 0; i < process->head_count; i++)
        pieces[i] = (struct iovec){(void *)(uintptr_t)process->heads[i].at, sizeof first[0]};
    memory->calls++;
    const size_t bytes = process->head_count * sizeof first[0];
    bool is_same =
        memory->read(memory, first, bytes, pieces, process->head_count) == (ssize_t)bytes;
    for (uint32_t i = 0; is_same && i < process->head_count; i++)
        is_same = first[i] == process->heads[i].first;
    return process->head_count && !is_same;
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
    if (count == 0 || count > LIST_AT_ONCE || target->has_many || bytes > STATE_BYTES ||
        !thread_list_is_of_program(target))
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
