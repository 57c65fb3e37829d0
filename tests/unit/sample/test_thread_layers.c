// SPDX-License-Identifier: Apache-2.0
// Threads with a state in several interpreters, as a list and a look have them.
#include "sample/look/thread_layers.h"

#include "support/fake_process.h"
#include "support/tap.h"

#define STACK UINT64_C(0x7f0000100000) // of C; that of another thread lies below
#define OTHER_STACK UINT64_C(0x7f0000000000)
#define STATE(n) (FAKE_BASE + 0x1000 * (uint64_t)(n))

enum { STATES = 5, STATE_ROOM = 1024 };

static struct target target;
static struct stack_trie trie;
static struct python_process process;
static struct python_thread *states[STATES]; // as they were made
static uint64_t told;                        // rounds of them, by `leave`

static void count(void *context, struct python_process *left, struct python_thread *thread)
{
    (void)context;
    told += left->round - thread->since;
}

// The state of a thread in the interpreter that has so many newer ones.
static struct python_thread *add_state(uint32_t newer, int64_t tid, uint32_t frames)
{
    struct python_thread *thread;
    const size_t n = process.thread_count;
    if (!ok(python_thread_create(STATE(n), &thread) == 0))
        return NULL;
    thread->tid = tid;
    thread->newer = newer;
    thread->is_inner = newer < 2;
    thread->frame_count = frames;
    thread->at_state = (uint32_t)(n * STATE_ROOM);
    for (uint32_t i = 0; i < frames; i++)
        thread->nodes[i] = 100 * (uint32_t)(n + 1) + i;
    process.threads[process.thread_count++] = states[n] = thread;
    return thread;
}

static bool begin(int minor)
{
    told = 0;
    fake_init(&target, minor);
    if (!ok(stack_trie_init(&trie) == 0) || !ok(python_process_init(&process, &target, &trie) == 0))
        return false;
    process.threads = calloc(STATES, sizeof *process.threads);
    process.thread_room = STATES;
    process.leave = count;
    return ok(process.threads != NULL);
}

static void end(void)
{
    python_process_finish(&process);
    stack_trie_finish(&trie);
}

// Where on the C stack it is; 0: in no call.
static void put_place(struct python_thread *thread, uint64_t place)
{
    uint64_t word = place ? place : thread->address + 64;
    memcpy(process.gather.bytes + thread->at_state + target.layout.thread_cframe, &word,
           sizeof word);
}

TEST("thread_layers: from 3.13 on states with one number are one thread, the inner one in front")
{
    if (!begin(13))
        return;
    struct python_thread *inmost = add_state(0, 7, 2), *inner = add_state(1, 7, 3),
                         *outer = add_state(2, 7, 4), *other = add_state(2, 8, 1);
    thread_layers_sort(&process);
    ok(process.threads[0]->newer == 2 && process.threads[1]->newer == 2);
    ok(process.threads[2] == inner && process.threads[3] == inmost);
    thread_layers_link(&process);
    ok(inmost->below == inner && inner->below == outer && !outer->below && !other->below);
    ok(thread_layers_first(inmost) == outer);
    thread_layers_cover(&process);
    ok(!inmost->is_covered && inner->is_covered && outer->is_covered && !other->is_covered);
    is_int(thread_layers_foot(inmost), 202); // the innermost of `inner`
    is_int(thread_layers_foot(inner), 303);
    is_int(thread_layers_foot(outer), outer->base);
    ok(thread_layers_is_one(&process, inmost, outer) &&
       !thread_layers_is_one(&process, inmost, other));
    end();
}

TEST("thread_layers: an inner state without frames stands for nobody, and nobody stands on it")
{
    if (!begin(13))
        return;
    struct python_thread *inmost = add_state(0, 7, 2), *inner = add_state(1, 7, 0),
                         *outer = add_state(2, 7, 4), *alone = add_state(1, 9, 0);
    thread_layers_link(&process);
    thread_layers_cover(&process);
    ok(!inmost->is_covered && inner->is_covered && outer->is_covered);
    is_int(thread_layers_foot(inmost), 303);
    ok(!alone->is_covered); // there is no other state of that thread
    inmost->frame_count = 0;
    thread_layers_cover(&process);
    ok(inmost->is_covered && inner->is_covered && !outer->is_covered);
    end();
}

TEST("thread_layers: 3.11 and 3.12 tell by the C stack whose calls they are")
{
    for (int minor = 11; minor <= 12; minor++) {
        if (!begin(minor))
            return;
        // made by thread 7, run by thread 8
        struct python_thread *inner = add_state(0, 7, 2), *idle = add_state(1, 7, 0),
                             *maker = add_state(2, 7, 3), *runner = add_state(2, 8, 4);
        put_place(maker, STACK + 0x8000);
        put_place(runner, OTHER_STACK + 0x8000);
        put_place(inner, OTHER_STACK + 0x7000);
        put_place(idle, 0);
        thread_layers_link(&process);
        thread_layers_cover(&process);
        ok(inner->below == runner && !idle->below);
        is_int(inner->tid, 8);
        ok(!inner->is_covered && idle->is_covered && !maker->is_covered && runner->is_covered);
        put_place(inner, STACK + 0x7000); // the other one runs it now
        thread_layers_link(&process);
        ok(inner->below == maker);
        is_int(inner->tid, 7);
        idle->frame_count = 1; // an older interpreter may be run by a newer one, too
        put_place(idle, STACK + 0x6000);
        thread_layers_link(&process);
        thread_layers_cover(&process);
        ok(idle->below == inner && inner->is_covered && maker->is_covered && !idle->is_covered);
        put_place(inner, STACK + 0x9000); // above all of them: a thread of its own
        thread_layers_link(&process);
        ok(!inner->below);
        put_place(inner, OTHER_STACK + 0x7000);
        thread_layers_link(&process);
        ok(inner->below == runner);
        inner->ident = OTHER_STACK + 0x7800; // the end of a stack: it is a thread by itself
        thread_layers_link(&process);
        ok(!inner->below);
        inner->ident = 0;
        put_place(runner, 0);
        put_place(inner, STACK - (16u << 20)); // too far from all
        thread_layers_link(&process);
        ok(!inner->below);
        end();
    }
}

TEST("thread_layers: up to 3.10 every state is a thread by itself")
{
    if (!begin(10))
        return;
    struct python_thread *inner = add_state(0, 7, 2), *outer = add_state(2, 7, 4);
    thread_layers_link(&process);
    thread_layers_cover(&process);
    ok(!inner->below && !inner->is_covered && !outer->is_covered);
    ok(!thread_layers_is_one(&process, inner, outer));
    end();
}

TEST("thread_layers: what held of a state is told before it stands on another, or is covered")
{
    if (!begin(13))
        return;
    struct python_thread *inner = add_state(1, 7, 0), *outer = add_state(2, 7, 4);
    process.round = 5;
    inner->frame_count = 1;
    thread_layers_link(&process);
    thread_layers_cover(&process);
    is_u64(told, 5 + 5); // of each as it was, while `inner` stood on nobody
    ok(outer->is_covered && outer->since == 5 && inner->since == 5);
    process.round = 9;
    thread_layers_clear(&process);
    is_u64(told, 9 + 9);
    ok(!outer->is_covered && !inner->below);
    end();
}

TEST("thread_layers: nobody stands on a state that is gone")
{
    if (!begin(13))
        return;
    struct python_thread *inner = add_state(1, 7, 1), *outer = add_state(2, 7, 4);
    thread_layers_link(&process);
    ok(inner->below == outer);
    thread_layers_unlink(&process, outer);
    ok(!inner->below);
    is_int(thread_layers_foot(inner), inner->base);
    end();
}
