// SPDX-License-Identifier: Apache-2.0
#include "sample/python_thread.h"

#include "support/fake_process.h"
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

#define CHUNK (FAKE_BASE + 0x4000)
#define CHUNK_BYTES 16384u

TEST("python_thread: what is learned of a chunk ends where it ends")
{
    struct target target;
    struct python_thread *thread;
    fake_init(&target, 13);
    if (python_thread_create(FAKE_BASE, &thread))
        return;
    for (uint32_t at = 64; at < CHUNK_BYTES - 128; at += 1000) {
        thread->chunks[0] = (struct chunk){
            .base = CHUNK, .size = CHUNK_BYTES, .bytes = CHUNK_BYTES, .single = CHUNK_BYTES - 100};
        thread->chunk_count = 1;
        python_thread_learn(thread, &target, CHUNK + at);
        ok(thread->chunks[0].bytes <= CHUNK_BYTES);
        ok(thread->chunks[0].bytes >= at + (uint32_t)target.layout.frame_bytes);
    }
    python_thread_destroy(thread);
}
