// SPDX-License-Identifier: Apache-2.0
#include "sample/look/python_thread.h"

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

#define HEAP (FAKE_BASE + 0x10000)
#define FRAME(n) (HEAP + 4096u * (n)) // too far apart for one patch

// A generator of 3.13, or what was one until a moment ago.
static void put_generator(const struct layout *layout, uint64_t frame, uint64_t previous,
                          bool is_there)
{
    fake_put(frame + (uint64_t)layout->frame_previous, previous);
    fake.bytes[frame - FAKE_BASE + (uint64_t)layout->frame_owner] = is_there ? 1 : 0x55;
}

static struct python_thread *learner(struct target *target)
{
    struct python_thread *thread;
    fake_init(target, 13);
    if (python_thread_create(FAKE_BASE, &thread))
        return NULL;
    put_generator(&target->layout, FRAME(0), FRAME(1), true);
    put_generator(&target->layout, FRAME(1), FRAME(2), true);
    put_generator(&target->layout, FRAME(2), FRAME(3), false);
    put_generator(&target->layout, FRAME(3), 0, true);
    return thread;
}

TEST("python_thread: links are followed to what is no frame, and not beyond")
{
    struct target target;
    struct python_thread *thread = learner(&target);
    if (!ok(thread))
        return;
    python_thread_learn(thread, &target, FRAME(0));
    is_int(thread->patch_count, 2);
    ok(python_thread_patch(thread, FRAME(1), 72));
    ok(!python_thread_patch(thread, FRAME(2), 72));
    python_thread_learn(thread, &target, FRAME(4) + 1); // no frame lies there
    is_int(thread->patch_count, 2);
    python_thread_destroy(thread);
}

TEST("python_thread: where not all chunks are known a frame may lie anywhere")
{
    struct target target;
    struct python_thread *thread = learner(&target);
    if (!ok(thread))
        return;
    fake_put(FAKE_BASE + (uint64_t)target.layout.thread_chunk, CHUNK);
    for (uint64_t at = CHUNK; at < CHUNK + 128ull * (PYTHON_THREAD_CHUNKS + 8); at += 128) {
        fake_put(at + (uint64_t)target.layout.chunk_size, 128);
        fake_put(at + (uint64_t)target.layout.chunk_previous, at + 128);
    }
    python_thread_learn(thread, &target, FRAME(0));
    is_int(thread->chunk_count, PYTHON_THREAD_CHUNKS);
    is_int(thread->patch_count, 4);
    python_thread_destroy(thread);
}

TEST("python_thread: a frame that is gone is expected for a while, and for long where it is met")
{
    struct target target;
    struct python_thread *thread = learner(&target);
    if (!ok(thread))
        return;
    python_thread_learn(thread, &target, FRAME(0));
    python_thread_learn(thread, &target, FRAME(2));
    is_int(thread->patch_count, 3);
    thread->reads += 50;
    python_thread_tidy(thread);
    is_int(thread->patch_count, 3);
    thread->reads += 50;
    python_thread_tidy(thread);
    is_int(thread->patch_count, 2);
    ok(!python_thread_patch(thread, FRAME(2), 72));
    python_thread_learn(thread, &target, FRAME(2));
    python_thread_patch(thread, FRAME(2), 72)->is_guess = false; // as the walk does
    thread->reads += 1000;
    python_thread_tidy(thread);
    is_int(thread->patch_count, 3);
    python_thread_destroy(thread);
}
