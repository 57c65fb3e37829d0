// SPDX-License-Identifier: Apache-2.0
// What becomes of a followed process whose memory is not what it was.
#include "sample/look/python_process.h"
#include "sample/look/thread_list.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/fake_process.h"
#include "support/tap.h"

TEST("python_process: one that ended between two rounds is not a Python without threads")
{
    struct target target;
    struct stack_trie trie;
    struct python_process process;
    fake_init(&target, 11);
    ok(!stack_trie_init(&trie));
    ok(!python_process_init(&process, &target, &trie));
    is_int(python_process_round(&process, 1), 0); // it may begin any time
    process.target.runtime = FAKE_BASE + 2 * (uint64_t)FAKE_BYTES;
    is_int(python_process_round(&process, 2), GAIT_ERR_MISSING);
    python_process_finish(&process);
    is_int(process.handle, -1); // 0 would be standard input, closed when it is finished again
    stack_trie_finish(&trie);
}

TEST("python_process: a number that another program has by now tells of nobody")
{
    struct target target;
    struct stack_trie trie;
    struct python_process process;
    const uint64_t now_ns = clock_steady_ns();
    fake_init(&target, 11);
    target.gil = FAKE_BASE + 8192;
    ok(!stack_trie_init(&trie));
    ok(!python_process_init(&process, &target, &trie));
    process.threads = calloc(1, sizeof(*process.threads));
    ok(!python_thread_create(FAKE_BASE, &process.threads[0]));
    process.thread_room = process.thread_count = 1;
    process.listed_ns = now_ns - 50000000;
    is_int(python_process_round(&process, now_ns - 50000000), 0); // held up for 50 ms
    process.threads[0]->is_new = true;
    process.target.pid = getpid();
    process.target.program.start = 1; // the one that was asked for began with the system
    is_int(python_process_round(&process, now_ns - 50000000), GAIT_ERR_MISSING);
    python_process_finish(&process);
    stack_trie_finish(&trie);
}

TEST("python_process: a thread that ended collects no garbage any more")
{
    struct target target;
    struct stack_trie trie;
    struct python_process process;
    fake_init(&target, 11);
    ok(!stack_trie_init(&trie));
    ok(!python_process_init(&process, &target, &trie));
    process.threads = calloc(1, sizeof(*process.threads));
    ok(!python_thread_create(FAKE_BASE, &process.threads[0]));
    process.thread_room = process.thread_count = 1;
    process.collector = process.holder = process.threads[0];
    ok(!thread_list_read(&process)); // there is none
    is_int(process.thread_count, 0);
    ok(!process.holder && !process.collector);
    python_process_finish(&process);
    stack_trie_finish(&trie);
}
