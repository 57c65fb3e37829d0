// SPDX-License-Identifier: Apache-2.0
// What of a process is read in a look.
#include "sample/look/snapshot_read.h"

#include "support/fake_process.h"
#include "support/tap.h"

static struct target target;
static struct snapshot_read gather;
static struct python_thread *thread;

static bool begin(int minor)
{
    fake_init(&target, minor);
    return ok(snapshot_read_init(&gather, &target) == 0) &&
           ok(python_thread_create(FAKE_BASE, &thread) == 0);
}

static void end(void)
{
    python_thread_destroy(thread);
    snapshot_read_finish(&gather);
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
            snapshot_read_begin(&gather);
            snapshot_read_add(&gather, thread, true);
            is_int(gather.count, 2);
            is_u64(bytes_outside(stacks[i], stacks[i] + 4096 + PYTHON_THREAD_CFRAME), 0);
            is_u64(thread->cframes.low, stacks[i]);
            is_u64(thread->cframes.high, stacks[i] + 4096 + PYTHON_THREAD_CFRAME);
            end();
        }
}

#define FAR (FAKE_BASE + 0x4000) // on the C stack: a call of eval, and one far below it
#define DEEP (FAKE_BASE + 0x8000)
#define LOCK (FAKE_BASE + 0x2000)

// The thread is where it was, as far as a small look before tells.
static void dwell_at(uint64_t cframe)
{
    thread->cframe = cframe;
    thread->is_peeked = thread->is_dwelling = true;
    snapshot_read_begin(&gather);
    snapshot_read_add(&gather, thread, true);
}

TEST("gather: a call from C that begins meanwhile is read where the last such call was")
{
    for (int minor = 11; minor <= 12; minor++) {
        const uint64_t frames[] = {0x1000, 0x2000};
        bool is_read;
        if (!begin(minor))
            return;
        const struct layout *layout = &target.layout;
        target.gil = LOCK;
        gather.slow_ns = UINT64_MAX / 2;
        fake_put(FAR + (uint64_t)layout->cframe_frame, frames[0]);
        fake_put(DEEP + (uint64_t)layout->cframe_frame, frames[1]);
        python_thread_widen(thread, FAR);
        python_thread_widen(thread, DEEP);
        fake_put(FAKE_BASE + (uint64_t)layout->thread_cframe, DEEP);
        dwell_at(FAR); // the state says that it is elsewhere by now
        is_int(snapshot_read_all(&gather), SNAPSHOT_READ_DONE);
        (void)snapshot_read_current(&gather, thread, &is_read);
        ok(!is_read); // never met before
        dwell_at(FAR);
        is_int(snapshot_read_all(&gather), SNAPSHOT_READ_DONE);
        is_u64(snapshot_read_current(&gather, thread, &is_read), frames[1]);
        ok(is_read);
        is_u64(thread->cframe, DEEP);
        const size_t count = gather.count;
        snapshot_read_begin(&gather);
        snapshot_read_add(&gather, thread, false); // does not run: it is where it is
        ok(gather.count < count);
        thread->reads += 1000;
        dwell_at(FAR); // not met for long
        is_u64(bytes_outside(FAR - 512, FAR + 512 + PYTHON_THREAD_CFRAME), 0);
        python_thread_meet(thread, DEEP);
        python_thread_forget(thread, DEEP); // the C stack is gone, and what was known of it
        dwell_at(FAR);
        is_u64(bytes_outside(FAKE_BASE, FAKE_BASE + 1), 0);
        end();
    }
}
