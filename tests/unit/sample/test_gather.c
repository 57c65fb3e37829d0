// SPDX-License-Identifier: Apache-2.0
// What of a process is read in a look.
#include "sample/gather.h"

#include "support/fake_process.h"
#include "support/tap.h"

static struct target target;
static struct gather gather;
static struct python_thread *thread;

static bool begin(int minor)
{
    fake_init(&target, minor);
    return ok(gather_init(&gather, &target) == 0) &&
           ok(python_thread_create(FAKE_BASE, &thread) == 0);
}

static void end(void)
{
    python_thread_destroy(thread);
    gather_finish(&gather);
}

// Bytes that lie neither in the thread's state nor in [low, high).
static size_t bytes_outside(uint64_t low, uint64_t high)
{
    size_t bytes = 0;
    for (size_t i = 0; i < gather.count; i++) {
        const uint64_t at = (uintptr_t)gather.pieces[i].iov_base, size = gather.pieces[i].iov_len;
        if (at - FAKE_BASE >= LAYOUT_THREAD_BYTES && (at < low || at >= high || size > high - at))
            bytes += size;
    }
    return bytes;
}

TEST("gather: of the C stack no more is read than where calls were, wherever it lies")
{
    static const uint64_t stacks[] = {0x10000, 0xfff000, 0x7ffc00000000}; // low ones: of a fiber
    for (int minor = 11; minor <= 12; minor++)
        for (size_t i = 0; i < 3; i++) {
            if (!begin(minor))
                return;
            python_thread_widen(thread, stacks[i]);
            python_thread_widen(thread, stacks[i] + 4096);
            thread->cframe = stacks[i] + 4096;
            gather_begin(&gather);
            gather_add(&gather, thread, true);
            is_int(gather.count, 2);
            is_u64(bytes_outside(stacks[i], stacks[i] + 4096 + PYTHON_THREAD_CFRAME), 0);
            is_u64(thread->cframes.low, stacks[i]);
            is_u64(thread->cframes.high, stacks[i] + 4096 + PYTHON_THREAD_CFRAME);
            end();
        }
}
