// SPDX-License-Identifier: Apache-2.0
// The lock's (last holder, number of switches) is read last of all. If it is
// what it was, only the holder can have run since. One switch more: the old and
// the new holder have. More switches, the same holder again, or another holder
// without a switch (the pair was read while it was written): anybody.
#include "sample/look/python_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/os/os.h"
#include "sample/look/stack_commit.h"
#include "sample/look/thread_layers.h"
#include "sample/look/thread_list.h"

#define LIST_AFTER_NS (20 * UINT64_C(1000000))
#define PROBE_AFTER_NS UINT64_C(1000000)
#define STOP_AFTER_NS (10 * UINT64_C(1000000))
// A piece of a look takes 0.35 us; collections that matter take longer than this.
#define COLLECTING_NS 250000u
#define TIDY_EVERY 64u // reads
// Calls are counted in whole stacks, whether they changed or not; not in all rounds, for
// the time it takes.
#define COUNT_AFTER_NS 50000u
// A stack that was looked at that long ago is about as deep as it was then.
#define QUICK_NS 30000u

enum { ROUND_TRIES = 64, LEARN_TRIES = 12, SLOW_TRIES = 8 };

static int fail_ended(const struct python_process *process)
{
    return fail(GAIT_ERR_MISSING, "process %lld ended", (long long)process->target.pid);
}

int python_process_init(struct python_process *process, const struct target *target,
                        struct stack_trie *trie)
{
    memset(process, 0, sizeof *process);
    process->target = *target;
    process->trie = trie;
    process->has_rule = true;
    process->handle = -1;
    if (target->program.start) // 0: no process at all, memory that a test made
        process->handle = os_memory_handle(target->pid);
    thread_names_init(&process->names, &process->target.memory, &process->target.layout);
    process->walk = malloc(sizeof *process->walk);
    int status = process->walk ? 0 : fail(GAIT_ERR_MEMORY, "no memory to sample");
    if (status == 0)
        status = snapshot_read_init(&process->gather, &process->target);
    if (status == 0)
        status = code_cache_init(&process->codes, &process->target, trie);
    if (status == 0)
        status = code_proof_create(&process->codes, CODE_PROOF_STEP_NS, &process->proof);
    if (status == 0 && !thread_list_is_of_program(target)) // before we had the handle
        status = fail_ended(process);
    if (status)
        python_process_finish(process);
    return status;
}

void python_process_leave(struct python_process *process, struct python_thread *thread)
{
    if (process->leave && thread->since < process->round)
        process->leave(process->context, process, thread);
    thread->since = process->round;
    thread->since_tick = process->round_tick;
}

void python_process_finish(struct python_process *process)
{
    if (!process)
        return;
    while (process->thread_count)
        thread_list_drop(process, process->thread_count - 1);
    free(process->threads);
    free(process->walk);
    snapshot_read_finish(&process->gather);
    code_proof_destroy(process->proof);
    code_cache_finish(&process->codes);
    if (process->handle >= 0)
        close(process->handle);
    *process = (struct python_process){.handle = -1}; // takes it again
}

static void become(struct python_process *process, struct python_thread *thread, uint32_t node,
                   uint8_t flags)
{
    if (thread->is_native || (thread->node == node && thread->flags == flags))
        return;
    python_process_leave(process, thread);
    thread->node = node;
    thread->flags = flags;
}

static void become_state(struct python_process *process, struct python_thread *thread,
                         enum sample_state state)
{
    if (thread->is_native || thread->state == state)
        return;
    python_process_leave(process, thread);
    thread->state = (uint8_t)state;
}

void python_process_put(struct python_process *process, struct python_thread *thread,
                        const struct thread_look *look)
{
    if (thread->node == look->node && thread->flags == look->flags && thread->state == look->state)
        return;
    python_process_leave(process, thread);
    thread->node = look->node;
    thread->flags = look->flags;
    thread->state = (uint8_t)look->state;
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
    const struct snapshot_read *gather = &process->gather;
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
    process->holder = thread_list_at(process, gather->holder);
    if (!process->holder)
        status = thread_list_read(process);
    if (process->holder) {
        process->holder->is_dirty = true;
        process->has_dirty = true;
    }
    return status;
}

// Where several interpreters may share the lock or have their own, all threads are read,
// and the lock tells states alone.
static void look_at_layers(struct python_process *process)
{
    const struct snapshot_read *gather = &process->gather;
    if (process->gil_holder != gather->holder || !process->holder)
        process->holder = thread_list_at(process, gather->holder);
    process->gil_holder = gather->holder;
    process->gil_switches = gather->switches;
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i]->holds_own = snapshot_read_holds_own(gather, process->threads[i]);
    thread_layers_link(process);
}

bool python_process_holds_lock(const struct python_process *process,
                               const struct python_thread *thread)
{
    if (thread->lock)
        return thread->holds_own;
    if (!process->is_locked || !process->holder)
        return false;
    return thread == process->holder ||
           (!process->has_rule && thread_layers_is_one(process, process->holder, thread));
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
        snapshot_read_add_peek(&process->gather, thread);
}

static void add_one(struct python_process *process, struct python_thread *thread)
{
    snapshot_read_add(&process->gather, thread, !process->has_rule || thread == process->holder);
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
    struct snapshot_read *gather = &process->gather;
    code_cache_begin(&process->codes);
    snapshot_read_begin(gather);
    for_each_read(process, prepare_one);
    const int status = gather->count ? snapshot_read_peek(gather) : 0;
    if (status)
        return status;
    snapshot_read_begin(gather);
    gather->wants_collecting = now_ns - process->collecting_ns >= COLLECTING_NS;
    if (gather->wants_collecting)
        process->collecting_ns = now_ns;
    for_each_read(process, add_one);
    snapshot_read_warm_up(gather);
    return snapshot_read_all(gather);
}

// Walks one thread that was read; true when there is nothing more to be done.
static bool settle(struct python_process *process, struct python_thread *thread, bool may_learn)
{
    const bool has_ground = !thread->below || !thread->below->is_dirty;
    const enum walk_result result =
        has_ground ? stack_walk(process->walk, &process->gather, &process->codes, thread)
                   : WALK_TORN;
    uint8_t flags = process->walk->is_deep ? SAMPLE_DEEP : 0;
    thread->is_dirty = true;
    if (result == WALK_UNKNOWN && may_learn) {
        process->counts.unknown++;
        thread->top = process->walk->top;
        if (process->walk->unknown)
            python_thread_learn(thread, &process->target, process->walk->unknown);
        return false;
    }
    const bool is_lost = process->walk->count && process->walk->doubtful == process->walk->count;
    if (is_lost && process->takes_doubtful)
        flags |= SAMPLE_TORN;
    int node = GAIT_ERR_STATE;
    if (result == WALK_DONE || result == WALK_CUT) {
        code_proof_make(process->proof, process->walk, thread, process->takes_doubtful);
        node = stack_commit(process, thread);
    }
    if (node < 0) {
        become(process, thread, thread->node, SAMPLE_TORN);
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
static bool settle_all(struct python_process *process, bool may_learn)
{
    bool is_settled = true;
    struct python_thread *holder = process->has_rule ? process->holder : NULL;
    if (holder)
        is_settled = settle(process, holder, may_learn);
    bool is_dirty = holder && holder->is_dirty;
    if (!process->has_dirty && process->has_rule)
        return is_settled;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct python_thread *thread = process->threads[i];
        if (thread == holder)
            continue;
        if (is_read_now(process, thread))
            is_settled = settle(process, thread, may_learn) && is_settled;
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
        if (python_process_holds_lock(process, thread))
            become_state(process, thread, SAMPLE_PYTHON);
        else if (thread != holder)
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
    }
}

static int prepare(struct python_process *process, uint64_t now_ns)
{
    int status = 0;
    process->look_ns = now_ns;
    if (now_ns - process->listed_ns > LIST_AFTER_NS || process->thread_count == 0 ||
        thread_list_has_newcomer(process)) {
        if (!thread_list_is_same(process))
            status = thread_list_read(process);
        process->listed_ns = now_ns;
    }
    if (status == 0)
        thread_names_read(process, now_ns);
    if (process->has_rule == process->target.has_many) {
        process->has_rule = !process->target.has_many;
        thread_layers_clear(process);
        make_all_dirty(process);
    }
    return status;
}

static void choose_counted(struct python_process *process, uint64_t now_ns)
{
    process->is_counted = now_ns - process->counted_ns >= COUNT_AFTER_NS;
    if (!process->is_counted)
        return;
    process->counted_ns = now_ns;
    call_pairs_round(&process->census);
}

// What was read may be of another program under the same number, which looks the same from
// outside (Debian's Python keeps its first thread at one address). Memory that is there after
// the reading was there all the while. Where no handle tells, the program is looked up after a
// round in which we were held up.
static bool is_of_another(const struct python_process *process, uint64_t now_ns)
{
    const uint64_t read_ns = process->gather.read_ns;
    if (process->handle >= 0)
        return os_memory_is_gone(process->handle, process->target.runtime);
    return read_ns > now_ns && read_ns - now_ns > LIST_AFTER_NS &&
           !thread_list_is_of_program(&process->target);
}

int python_process_round(struct python_process *process, uint64_t now_ns)
{
    int learned = 0, slow = 0;
    bool is_settled = false;
    int status = prepare(process, now_ns);
    process->walk->spent = 0;
    if (status || process->thread_count == 0)
        return status;
    choose_counted(process, now_ns);
    for (int i = 0; i < ROUND_TRIES && !is_settled; i++) {
        status = look(process, now_ns);
        if (status < 0)
            return status;
        if (status == SNAPSHOT_READ_AGAIN && slow++ < SLOW_TRIES)
            continue;
        if (status == SNAPSHOT_READ_AGAIN)
            break;
        if (is_of_another(process, now_ns))
            return fail_ended(process);
        process->is_locked = process->gather.is_locked;
        const bool is_same = process->gather.holder == process->gil_holder &&
                             process->gather.switches == process->gil_switches;
        if (process->has_rule && !is_same) {
            status = note_switch(process);
            if (status)
                return status;
            continue;
        }
        if (!process->has_rule)
            look_at_layers(process);
        note_collecting(process);
        is_settled = settle_all(process, learned++ < LEARN_TRIES);
    }
    if (!is_settled)
        mark_torn(process);
    if (!process->has_rule)
        thread_layers_cover(process);
    set_states(process, now_ns);
    process->round++;
    process->counts.rounds++;
    process->counts.unreadable = process->codes.unreadable;
    return 0;
}

void python_process_flush(struct python_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        python_process_leave(process, process->threads[i]);
}
