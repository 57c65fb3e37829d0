// SPDX-License-Identifier: Apache-2.0
// The lock's (last holder, number of switches) is read last of all. If it is
// what it was, only the holder can have run since. One switch more: the old and
// the new holder have. More switches, the same holder again, or another holder
// without a switch (the pair was read while it was written): anybody.
#include "sample/python_process.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/os/os.h"
#include "sample/thread_id.h"

#define LIST_AFTER_NS (20 * UINT64_C(1000000))
#define PROBE_AFTER_NS UINT64_C(1000000)
#define STOP_AFTER_NS (10 * UINT64_C(1000000))
// A piece of a look takes 0.35 us; collections that matter take longer than this.
#define COLLECTING_NS 250000u
#define TIDY_EVERY 4096u // reads
// A stack that was looked at that long ago is about as deep as it was then.
#define QUICK_NS 30000u

enum { ROUND_TRIES = 64, LEARN_TRIES = 12, SLOW_TRIES = 8 };
enum { THREAD_LIMIT = 16384, INTERPRETER_LIMIT = 256, STATE_BYTES = LAYOUT_THREAD_BYTES };
enum { LIST_WORDS = 3, LIST_AT_ONCE = 128 };

int python_process_init(struct python_process *process, const struct target *target,
                        struct stack_trie *trie)
{
    memset(process, 0, sizeof *process);
    process->target = *target;
    process->trie = trie;
    process->has_rule = true;
    process->walk = malloc(sizeof *process->walk);
    int status = process->walk ? 0 : fail(GAIT_ERR_MEMORY, "no memory to sample");
    if (status == 0)
        status = gather_init(&process->gather, &process->target);
    if (status == 0)
        status = code_cache_init(&process->codes, &process->target, trie);
    if (status)
        python_process_finish(process);
    return status;
}

static void leave(struct python_process *process, struct python_thread *thread)
{
    if (process->leave && thread->since < process->round)
        process->leave(process->context, process, thread);
    thread->since = process->round;
    thread->since_tick = process->round_tick;
}

static void drop_thread(struct python_process *process, size_t index)
{
    struct python_thread *thread = process->threads[index];
    leave(process, thread);
    if (process->holder == thread)
        process->holder = NULL;
    if (process->collector == thread)
        process->collector = NULL; // the next one may be made at the same address
    thread_probe_close(thread);
    python_thread_destroy(thread);
    process->threads[index] = process->threads[--process->thread_count];
}

void python_process_finish(struct python_process *process)
{
    if (!process)
        return;
    while (process->thread_count)
        drop_thread(process, process->thread_count - 1);
    free(process->threads);
    free(process->walk);
    gather_finish(&process->gather);
    code_cache_finish(&process->codes);
    memset(process, 0, sizeof *process);
}

static struct python_thread *thread_at(const struct python_process *process, uint64_t address)
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
            thread->native == (uint32_t)bytes_get64(state + layout->thread_native));
}

static size_t state_bytes(const struct layout *layout)
{
    const int32_t last =
        layout->thread_native > layout->thread_ident ? layout->thread_native : layout->thread_ident;
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
        struct python_thread *thread = thread_at(process, at);
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

int python_process_list(struct python_process *process)
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
            drop_thread(process, i);
    meet_threads(process);
    process->holder = thread_at(process, process->gil_holder);
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

// Asked by one call, which is nearly always the answer: nothing came or went.
static bool is_list_same(struct python_process *process)
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

static void become(struct python_process *process, struct python_thread *thread, uint32_t node,
                   uint8_t flags)
{
    if (thread->is_native || (thread->node == node && thread->flags == flags))
        return;
    leave(process, thread);
    thread->node = node;
    thread->flags = flags;
}

static void become_state(struct python_process *process, struct python_thread *thread,
                         enum sample_state state)
{
    if (thread->is_native || thread->state == state)
        return;
    leave(process, thread);
    thread->state = (uint8_t)state;
}

void python_process_put(struct python_process *process, struct python_thread *thread,
                        const struct thread_look *look)
{
    if (thread->node == look->node && thread->flags == look->flags && thread->state == look->state)
        return;
    leave(process, thread);
    thread->node = look->node;
    thread->flags = look->flags;
    thread->state = (uint8_t)look->state;
}

// Stands where the outermost frames of a stack that is too deep were left out.
static uint32_t mark_of_deep(struct python_process *process, const struct python_thread *thread)
{
    const uint32_t site = stack_trie_site(process->trie, "(outermost frames left out)", "", 0);
    const uint32_t node = site ? stack_trie_node(process->trie, thread->base, site, 0) : 0;
    return node ? node : thread->base;
}

// The node that the frame at this place, counted from the root, is a child of.
static uint32_t parent_of(struct python_process *process, const struct python_thread *thread,
                          uint32_t at)
{
    if (at)
        return thread->nodes[at - 1];
    return process->walk->is_deep ? mark_of_deep(process, thread) : thread->base;
}

// What moved is taken as it was found if a stack that did not move ended or went
// on like that before: no stack comes of it that never was, and calls shorter
// than a look keep their samples. Else it is left out. The number of frames kept.
static uint32_t commit_doubtful(struct python_process *process, struct python_thread *thread,
                                uint32_t at)
{
    const struct stack_walk *walk = process->walk;
    for (; at < walk->count; at++) {
        const struct frame_point *point = &walk->frames[walk->count - 1 - at];
        const uint32_t parent = parent_of(process, thread, at);
        struct code_place place;
        if (!code_cache_known(&process->codes, point->code, point->instruction, &place))
            break;
        const uint32_t node = stack_trie_find(process->trie, parent, place.site, place.line);
        if (!node)
            break;
        thread->nodes[at] = node;
    }
    return at;
}

static int commit_certain(struct python_process *process, struct python_thread *thread, uint32_t at,
                          uint64_t now_ns)
{
    const struct stack_walk *walk = process->walk;
    for (; at < walk->count - walk->doubtful; at++) {
        const struct frame_point *point = &walk->frames[walk->count - 1 - at];
        const uint32_t parent = parent_of(process, thread, at);
        struct code_place place;
        if (code_cache_place(&process->codes, point->code, point->instruction, now_ns, &place)) {
            fail_clear();
            process->counts.unreadable++;
            thread->frame_count = 0;
            return GAIT_ERR_FORMAT;
        }
        const uint32_t next = stack_trie_node(process->trie, parent, place.site, place.line);
        thread->nodes[at] = next ? next : parent;
    }
    return 0;
}

// Frames from the root that are what they were keep their nodes. The node of the
// stack, or an error.
static int commit(struct python_process *process, struct python_thread *thread, uint64_t now_ns)
{
    struct stack_walk *walk = process->walk;
    const uint32_t before = thread->frame_count;
    const uint32_t certain = walk->count - walk->doubtful;
    const uint32_t shared = certain < before ? certain : before;
    uint32_t at = 0;
    if (python_thread_reserve(thread, walk->count)) {
        fail_clear();
        return GAIT_ERR_MEMORY;
    }
    if (shared > 1 && before == walk->count && walk->doubtful == 0 && // all but the leaf, as a rule
        memcmp(&walk->frames[1], &thread->frames[1], (before - 1) * sizeof walk->frames[0]) == 0)
        at = before - 1;
    while (at < shared && memcmp(&walk->frames[walk->count - 1 - at],
                                 &thread->frames[before - 1 - at], sizeof walk->frames[0]) == 0)
        at++;
    const int status = commit_certain(process, thread, at, now_ns);
    if (status)
        return status;
    const uint32_t kept = commit_doubtful(process, thread, certain);
    process->counts.moved += walk->doubtful && kept == walk->count;
    walk->doubtful = walk->count - kept;
    memcpy(thread->frames, walk->frames + walk->doubtful, kept * sizeof walk->frames[0]);
    thread->frame_count = kept;
    thread->leaf = walk->leaf;
    return (int)(kept ? thread->nodes[kept - 1] : thread->base);
}

static void make_all_dirty(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i]->is_dirty = true;
    process->has_dirty = true;
}

// The lock is not as it was: who can have run?
static int note_switch(struct python_process *process)
{
    const struct gather *gather = &process->gather;
    const bool is_one = gather->switches == process->gil_switches + 1 &&
                        gather->holder != process->gil_holder && process->holder;
    int status = 0;
    process->counts.switches += gather->switches - process->gil_switches;
    if (is_one) {
        process->holder->is_dirty = true;
        process->holder->probed_ns = 0;
        process->has_dirty = true;
    } else {
        make_all_dirty(process);
    }
    process->gil_holder = gather->holder;
    process->gil_switches = gather->switches;
    process->holder = thread_at(process, gather->holder);
    if (!process->holder)
        status = python_process_list(process);
    if (process->holder) {
        process->holder->is_dirty = true;
        process->has_dirty = true;
    }
    return status;
}

static bool is_read_now(const struct python_process *process, const struct python_thread *thread)
{
    return !process->has_rule || thread->is_dirty || thread == process->holder;
}

static void prepare_one(struct python_process *process, struct python_thread *thread)
{
    if (process->look_ns - thread->read_ns >= QUICK_NS)
        thread->edge = 0;
    thread->read_ns = process->look_ns;
    if (thread->is_new)
        python_thread_expect(thread, &process->target);
    else if (thread->reads % TIDY_EVERY == TIDY_EVERY - 1)
        python_thread_tidy(thread);
    if (!thread->edge && process->target.layout.thread_cframe >= 0)
        gather_add_peek(&process->gather, thread);
}

static void add_one(struct python_process *process, struct python_thread *thread)
{
    gather_add(&process->gather, thread, !process->has_rule || thread == process->holder);
}

// What is to be done with each thread that is read, the one that may run first.
static void for_each_read(struct python_process *process,
                          void (*act)(struct python_process *, struct python_thread *))
{
    if (process->holder)
        act(process, process->holder);
    for (size_t i = 0; i < process->thread_count && (process->has_dirty || !process->has_rule); i++)
        if (process->threads[i] != process->holder && is_read_now(process, process->threads[i]))
            act(process, process->threads[i]);
}

// Whoever holds the lock when it begins; a finalizer may hand the lock to others.
static void note_collecting(struct python_process *process)
{
    if (!process->gather.is_collecting)
        process->collector = NULL;
    else if (!process->collector)
        process->collector = process->holder;
}

static int look(struct python_process *process, uint64_t now_ns)
{
    struct gather *gather = &process->gather;
    process->look_ns = now_ns;
    gather_begin(gather);
    for_each_read(process, prepare_one);
    const int status = gather->count ? gather_peek(gather) : 0;
    if (status)
        return status;
    gather_begin(gather);
    gather->wants_collecting = now_ns - process->collecting_ns >= COLLECTING_NS;
    if (gather->wants_collecting)
        process->collecting_ns = now_ns;
    for_each_read(process, add_one);
    return gather_read(gather);
}

// Walks one thread that was read; true when there is nothing more to be done.
static bool settle(struct python_process *process, struct python_thread *thread, uint64_t now_ns,
                   bool may_learn)
{
    const enum walk_result result = stack_walk(process->walk, &process->gather, thread);
    uint8_t flags = process->walk->is_deep ? SAMPLE_DEEP : 0;
    thread->is_dirty = true;
    if (result == WALK_UNKNOWN && may_learn) {
        process->counts.unknown++;
        thread->leaf = process->walk->leaf;
        if (process->walk->unknown)
            python_thread_learn(thread, &process->target, process->walk->unknown);
        return false;
    }
    const int node = result == WALK_DONE || result == WALK_CUT ? commit(process, thread, now_ns)
                                                               : GAIT_ERR_STATE;
    if (node < 0) {
        become(process, thread, thread->node, SAMPLE_TORN);
        process->counts.torn_rounds++;
        return true;
    }
    if (process->walk->doubtful) {
        flags |= SAMPLE_CUT;
        process->counts.cut++;
    }
    if (thread == process->collector && thread == process->holder)
        flags |= SAMPLE_COLLECTING;
    if (thread->node != (uint32_t)node && thread != process->holder)
        thread->probed_ns = 0; // it ran: what does it do now?
    become(process, thread, (uint32_t)node, flags);
    thread->is_dirty = false;
    return true;
}

// All threads of the look; false: look again.
static bool settle_all(struct python_process *process, uint64_t now_ns, bool may_learn)
{
    bool is_settled = true;
    struct python_thread *holder = process->holder;
    if (holder)
        is_settled = settle(process, holder, now_ns, may_learn);
    bool is_dirty = holder && holder->is_dirty;
    if (!process->has_dirty && process->has_rule)
        return is_settled;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        if (!thread || thread == holder)
            continue;
        if (is_read_now(process, thread))
            is_settled = settle(process, thread, now_ns, may_learn) && is_settled;
        is_dirty = is_dirty || thread->is_dirty;
    }
    process->has_dirty = is_dirty;
    return is_settled;
}

// A thread that would be something else than blocked if it were not stopped.
static struct python_thread *some_active(struct python_process *process)
{
    if (process->is_locked && process->holder)
        return process->holder;
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->is_stopped || process->threads[i]->state != SAMPLE_BLOCKED)
            return process->threads[i];
    return NULL;
}

// Who is stopped while it holds the lock does not run Python, and who waits for
// that lock waits for nobody who does.
static void set_stopped(struct python_process *process, uint64_t now_ns)
{
    struct python_thread *active = some_active(process);
    if (active && now_ns - process->stop_asked_ns < STOP_AFTER_NS)
        return;
    if (active)
        process->stop_asked_ns = now_ns;
    process->is_stopped = active && thread_probe_is_stopped(active, &process->target);
}

static void set_states(struct python_process *process, uint64_t now_ns)
{
    struct python_thread *holder = process->holder;
    set_stopped(process, now_ns);
    if (process->is_stopped) {
        for (size_t i = 0; i < process->thread_count; i++)
            become_state(process, process->threads[i], SAMPLE_BLOCKED);
        return;
    }
    if (holder)
        become_state(process, holder,
                     process->is_locked ? SAMPLE_PYTHON
                                        : thread_probe(holder, &process->target, now_ns, true));
    if (now_ns - process->probed_ns < PROBE_AFTER_NS)
        return;
    process->probed_ns = now_ns;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        if (thread != holder)
            become_state(process, thread, thread_probe(thread, &process->target, now_ns, false));
    }
}

// Of threads that may have run nothing new is known: their last stack stands for
// them, and says so.
static void mark_torn(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        if (!thread->is_dirty && thread != process->holder)
            continue;
        become(process, thread, thread->node, SAMPLE_TORN);
        process->counts.torn_rounds++;
    }
}

static int prepare(struct python_process *process, uint64_t now_ns)
{
    int status = 0;
    if (now_ns - process->listed_ns > LIST_AFTER_NS || process->thread_count == 0) {
        if (!is_list_same(process))
            status = python_process_list(process);
        process->listed_ns = now_ns;
    }
    if (process->has_rule == process->target.has_many) {
        process->has_rule = !process->target.has_many;
        make_all_dirty(process);
    }
    return status;
}

int python_process_round(struct python_process *process, uint64_t now_ns)
{
    int learned = 0, slow = 0;
    bool is_settled = false;
    int status = prepare(process, now_ns);
    process->walk->spent = 0;
    if (status || process->thread_count == 0)
        return status;
    for (int i = 0; i < ROUND_TRIES && !is_settled; i++) {
        status = look(process, now_ns);
        if (status < 0)
            return status;
        if (status == GATHER_AGAIN && slow++ < SLOW_TRIES)
            continue;
        if (status == GATHER_AGAIN)
            break;
        process->is_locked = process->gather.is_locked;
        const bool is_same = process->gather.holder == process->gil_holder &&
                             process->gather.switches == process->gil_switches;
        if (process->has_rule && !is_same) {
            status = note_switch(process);
            if (status)
                return status;
            continue;
        }
        note_collecting(process);
        is_settled = settle_all(process, now_ns, learned++ < LEARN_TRIES);
    }
    if (!is_settled)
        mark_torn(process);
    set_states(process, now_ns);
    process->round++;
    process->counts.rounds++;
    return 0;
}

void python_process_flush(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        leave(process, process->threads[i]);
}
