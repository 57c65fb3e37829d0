// SPDX-License-Identifier: Apache-2.0
// Lists of threads in a process that is only memory, which changes while it is read.
#include "sample/look/thread_list.h"

#include "support/fake_process.h"
#include "support/tap.h"

#define INTERPRETER (FAKE_BASE + 0x2000)
#define LOCK (FAKE_BASE + 0x6000)
#define STATE(n) (FAKE_BASE + 0x7000 + 0x400 * (uint64_t)(n))
#define NOWHERE (FAKE_BASE + 2 * (uint64_t)FAKE_BYTES)

enum { THREADS = 3 }; // the newest is first

static struct target target;
static struct stack_trie trie;
static struct python_process process;
static size_t met;

static void put(uint64_t state, int32_t field, uint64_t word)
{
    if (field >= 0)
        fake_put(state + (uint64_t)field, word);
}

// All that tells of a thread which one it is.
static void put_numbers(uint64_t state, uint64_t ident, uint64_t number)
{
    put(state, target.layout.thread_ident, ident);
    put(state, target.layout.thread_native, number);
    put(state, target.layout.thread_serial, number);
}

// In no call; where that is told on the C stack, in its own first place there.
static void put_idle(uint64_t state)
{
    put(state, target.layout.thread_frame, 0);
    put(state, target.layout.thread_cframe, state + 320);
}

static void count_met(void *context, struct python_process *followed, struct python_thread *thread)
{
    (void)context, (void)followed, (void)thread;
    met++;
}

static bool begin(int minor)
{
    met = 0;
    fake_init(&target, minor);
    const struct layout *layout = &target.layout;
    put(FAKE_BASE, layout->runtime_interpreters, INTERPRETER);
    put(INTERPRETER, layout->interpreter_gil, LOCK);
    put(INTERPRETER, layout->interpreter_threads, STATE(0));
    for (uint64_t n = 0; n < THREADS; n++) {
        put(STATE(n), layout->thread_interpreter, INTERPRETER);
        put(STATE(n), layout->thread_next, n + 1 < THREADS ? STATE(n + 1) : 0);
        put_numbers(STATE(n), 0x9000 + n, 100 + n);
        put_idle(STATE(n));
    }
    if (!ok(stack_trie_init(&trie) == 0) || !ok(python_process_init(&process, &target, &trie) == 0))
        return false;
    process.enter = count_met;
    return ok(thread_list_read(&process) == 0) && is_int(process.thread_count, THREADS) &&
           is_int(met, THREADS);
}

static void end(void)
{
    python_process_finish(&process);
    stack_trie_finish(&trie);
}

TEST("thread_list: another thread at one's address is another, on every version")
{
    for (int minor = 8; minor <= 13; minor++) {
        if (!begin(minor))
            return;
        ok(thread_list_read(&process) == 0);
        is_int(met, THREADS);
        put_numbers(STATE(1), 0x9001, 200); // the C library gave its stack away again, too
        ok(!thread_list_is_same(&process));
        ok(thread_list_read(&process) == 0);
        is_int(met, THREADS + 1);
        is_int(process.thread_count, THREADS);
        end();
    }
}

// A thread ends while the list is read: its state is the C library's again, and leads
// nowhere. So many reads later the list is whole.
static uint64_t torn_reads;

static void tear(void)
{
    put(STATE(0), target.layout.thread_next, NOWHERE);
}

static void make_whole(size_t piece)
{
    (void)piece;
    if (fake.reads > torn_reads)
        put(STATE(0), target.layout.thread_next, STATE(1));
}

TEST("thread_list: threads behind one that ends meanwhile are still there")
{
    static const uint64_t lengths[] = {12, 1000}; // reads: once, and for good
    for (int minor = 8; minor <= 13; minor++)
        for (size_t i = 0; i < 2; i++) {
            if (!begin(minor))
                return;
            const struct python_thread *last = thread_list_at(&process, STATE(2));
            tear();
            torn_reads = fake.reads + lengths[i];
            fake.between = make_whole;
            ok(thread_list_read(&process) == 0);
            is_int(process.thread_count, THREADS);
            ok(thread_list_at(&process, STATE(2)) == last);
            is_int(met, THREADS);
            end();
        }
}

TEST("thread_list: who is not in a whole list is gone, also when its place is another's")
{
    if (!begin(11))
        return;
    put(STATE(0), target.layout.thread_next, STATE(2));
    ok(thread_list_read(&process) == 0);
    is_int(process.thread_count, 2);
    put_numbers(STATE(2), 0x9002, 300);
    put(STATE(2), target.layout.thread_next, NOWHERE); // torn behind it
    ok(thread_list_read(&process) == 0);
    is_int(process.thread_count, 2);
    is_u64(thread_list_at(&process, STATE(2))->native, 300);
    end();
}

TEST("thread_list: a thread that another one just makes is nobody yet, on every version")
{
    for (int minor = 8; minor <= 13; minor++) {
        if (!begin(minor))
            return;
        const bool is_told = minor <= 11; // by whose ids it has; later it has none
        put(INTERPRETER, target.layout.interpreter_threads, STATE(3));
        put(STATE(3), target.layout.thread_interpreter, INTERPRETER);
        put(STATE(3), target.layout.thread_next, STATE(0));
        put_idle(STATE(3));
        put_numbers(STATE(3), is_told ? 0x9002 : 0, is_told ? 102 : 0);
        ok(thread_list_read(&process) == 0);
        is_int(met, THREADS);
        put_numbers(STATE(3), 0x9003, 103);
        ok(thread_list_read(&process) == 0);
        is_int(met, THREADS + 1);
        is_int(process.thread_count, THREADS + 1);
        end();
    }
}
