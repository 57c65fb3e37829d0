// SPDX-License-Identifier: Apache-2.0
// Lists of threads in a process that is only memory, which changes while it is read.
#include "sample/thread_list.h"

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
