// SPDX-License-Identifier: Apache-2.0
#include "sample/python_thread.h"

#include "support/tap.h"

static struct python_thread *thread_with_patches(void)
{
    struct python_thread *thread;
    if (python_thread_create(0x9000, &thread))
        return NULL;
    thread->patches[0] = (struct patch){.at = 0x1000, .bytes = 100};
    thread->patches[1] = (struct patch){.at = 0x2000, .bytes = 100};
    thread->patch_count = 2;
    thread->cframe_low = 0x5000;
    thread->cframe_high = 0x5010;
    return thread;
}

TEST("python_thread: only what cannot be read is expected no more")
{
    struct python_thread *thread = thread_with_patches();
    if (!ok(thread))
        return;
    python_thread_forget(thread, 0x5000); // its C frames: no frame of Python's
    is_u64(thread->cframe_high, 0);
    is_int(thread->patch_count, 2);
    python_thread_forget(thread, 0x9000); // its own state
    is_int(thread->patch_count, 2);
    python_thread_forget(thread, 0x1000);
    is_int(thread->patch_count, 1);
    is_u64(thread->patches[0].at, 0x2000);
    python_thread_destroy(thread);
}
