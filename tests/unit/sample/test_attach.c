// SPDX-License-Identifier: Apache-2.0
// What is believed of a Python whose threads move while they are looked at.
#include "sample/remote/attach.h"

#include "base/fail.h"
#include "support/fake_process.h"
#include "support/tap.h"

#define INTERPRETER (FAKE_BASE + 0x2000)
#define LOCK (FAKE_BASE + 0x6000)
#define THREAD (FAKE_BASE + 0x7000)
#define CFRAME (FAKE_BASE + 0x8000) // on the C stack
#define FRAME (FAKE_BASE + 0x9000)
#define CODE (FAKE_BASE + 0xa000)
#define NAME (FAKE_BASE + 0xb000)
#define CODE_TYPE (FAKE_BASE + 0xc000)
#define CHUNK (FAKE_BASE + 0xd000)
#define NOWHERE (FAKE_BASE + 2 * (uint64_t)FAKE_BYTES)

static struct target target;
static uint64_t torn_reads; // so many are made before all is whole

static void put_thread(int32_t field, uint64_t word)
{
    fake_put(THREAD + (uint64_t)field, word);
}

static void put_current(uint64_t frame)
{
    const struct layout *layout = &target.layout;
    if (layout->thread_frame >= 0)
        put_thread(layout->thread_frame, frame);
    else
        fake_put(CFRAME + (uint64_t)layout->cframe_frame, frame);
}

static void put_owner(uint8_t owner)
{
    fake.bytes[FRAME - FAKE_BASE + (uint64_t)target.layout.frame_owner] = owner;
}

// One thread that runs one function.
static void put_whole(void)
{
    const struct layout *layout = &target.layout;
    put_thread(layout->thread_interpreter, INTERPRETER);
    if (layout->thread_frame < 0)
        put_thread(layout->thread_cframe, CFRAME);
    put_current(FRAME);
    if (layout->frame_owner >= 0)
        put_owner(0);
    fake_put(FRAME + (uint64_t)layout->frame_code, CODE);
    fake_put(CODE + (uint64_t)layout->object_type, CODE_TYPE);
    fake_put(CODE + (uint64_t)layout->code_name, NAME);
    fake_text(layout, NAME, "train");
}

static void begin(int minor)
{
    fake_init(&target, minor);
    const struct layout *layout = &target.layout;
    target.code_type = CODE_TYPE;
    fake_put(FAKE_BASE + (uint64_t)layout->runtime_interpreters, INTERPRETER);
    if (layout->interpreter_gil >= 0)
        fake_put(INTERPRETER + (uint64_t)layout->interpreter_gil, LOCK);
    fake_put(INTERPRETER + (uint64_t)layout->interpreter_threads, THREAD);
    put_whole();
}

static void make_whole(size_t piece)
{
    (void)piece;
    if (fake.reads > torn_reads)
        put_whole();
}

static void tear_frame_away(void)
{
    put_current(NOWHERE);
}

static void tear_code_out(void)
{
    fake_put(FRAME + (uint64_t)target.layout.frame_code, 0);
}

static void tear_code_away(void)
{
    fake_put(FRAME + (uint64_t)target.layout.frame_code, NOWHERE);
}

static void tear_type(void)
{
    fake_put(CODE + (uint64_t)target.layout.object_type, LOCK);
}

static void tear_name(void)
{
    fake_put(CODE + (uint64_t)target.layout.code_name, NOWHERE);
}

static void tear_thread(void)
{
    put_thread(target.layout.thread_interpreter, LOCK);
}

// The interpreter's own frame, and nothing below it.
static void tear_to_shim(void)
{
    if (target.layout.frame_owner >= 0)
        put_owner((uint8_t)target.layout.frame_owner_shim);
    else
        tear_code_out();
}

// Room for what says where the current frame is, on the C stack, not yet written.
static void tear_cframe(void)
{
    if (target.layout.thread_frame < 0)
        put_current(0);
    else
        tear_frame_away();
}

static void (*const tears[])(void) = {tear_frame_away, tear_code_out, tear_code_away, tear_type,
                                      tear_name,       tear_thread,   tear_to_shim,   tear_cframe};
enum { TEARS = sizeof tears / sizeof tears[0] };

TEST("attach: a Python whose thread holds still is ready at once, on every version")
{
    for (int minor = 8; minor <= 13; minor++) {
        begin(minor);
        is_int(attach_refresh(&target), ATTACH_READY);
        is_u64(target.interpreter, INTERPRETER);
        ok(fake.reads <= 9);
    }
}

TEST("attach: a thread that was torn once is looked at again, whatever was torn")
{
    for (int minor = 8; minor <= 13; minor++)
        for (size_t i = 0; i < TEARS; i++) {
            begin(minor);
            tears[i]();
            torn_reads = 9; // one look at least
            fake.between = make_whole;
            is_int(attach_refresh(&target), ATTACH_READY);
            ok(fake.reads > torn_reads);
        }
}

TEST("attach: one that is in the middle of a call for longer is waited for")
{
    static const int minors[] = {8, 11, 12, 13};
    for (size_t i = 0; i < 4; i++) {
        begin(minors[i]);
        tear_type();
        torn_reads = 75;
        fake.between = make_whole;
        is_int(attach_refresh(&target), GAIT_ERR_FORMAT); // has no time to wait
        ok(fake.reads < torn_reads);
        is_int(attach_settle(&target), ATTACH_READY);
        ok(fake.reads > torn_reads);
    }
}

TEST("attach: a frame that is just made has a caller by which its Python is known")
{
    for (int minor = 8; minor <= 13; minor++) {
        begin(minor);
        const struct layout *layout = &target.layout;
        const uint64_t made = FRAME + 0x200;
        fake_put(made + (uint64_t)layout->frame_code, NAME); // no code object
        fake_put(made + (uint64_t)layout->frame_previous, FRAME);
        put_current(made);
        is_int(attach_settle(&target), ATTACH_READY);
        fake_put(made + (uint64_t)layout->frame_previous, 0);
        ok(attach_settle(&target) < 0);
        fail_clear();
    }
}

TEST("attach: one that was stopped while it makes a frame is known by its outermost one")
{
    for (int minor = 11; minor <= 13; minor++) {
        begin(minor);
        const struct layout *layout = &target.layout;
        const uint64_t first = CHUNK + 0x400, root = first + (uint64_t)layout->chunk_data + 8;
        put_thread(layout->thread_chunk, CHUNK);
        fake_put(CHUNK + (uint64_t)layout->chunk_previous, first);
        fake_put(root + (uint64_t)layout->frame_code, CODE);
        put_current(NAME); // anything but a frame, and for ever
        is_int(attach_settle(&target), ATTACH_READY);
        fake_put(root + (uint64_t)layout->frame_code, FRAME);
        ok(attach_settle(&target) != ATTACH_READY);
        fail_clear();
        fake_put(first + (uint64_t)layout->chunk_previous, CHUNK); // and no circle keeps it
        ok(attach_settle(&target) != ATTACH_READY);
        fail_clear();
    }
}

TEST("attach: what is never a code object is refused, after so many looks and no more")
{
    static void (*const wrong[])(void) = {tear_type, tear_name, tear_code_away, tear_thread};
    for (int minor = 8; minor <= 13; minor++)
        for (size_t i = 0; i < 4; i++) {
            begin(minor);
            wrong[i]();
            is_int(attach_settle(&target), GAIT_ERR_FORMAT);
            ok(strstr(fail_text(), "gait does not know this build"));
            ok(fake.reads > 30 && fake.reads < 200);
        }
}

TEST("attach: frames that are never there are no Python yet, after so many looks and no more")
{
    static void (*const missing[])(void) = {tear_frame_away, tear_code_out, tear_to_shim};
    for (int minor = 8; minor <= 13; minor++)
        for (size_t i = 0; i < 3; i++) {
            begin(minor);
            missing[i]();
            is_int(attach_settle(&target), ATTACH_NOT_YET);
            ok(fake.reads > 30 && fake.reads < 200);
        }
}

TEST("attach: a thread outside Python beside one that runs is no objection")
{
    for (int minor = 8; minor <= 13; minor++) {
        begin(minor);
        const uint64_t idle = THREAD + 0x800;
        const struct layout *layout = &target.layout;
        fake_put(INTERPRETER + (uint64_t)layout->interpreter_threads, idle);
        fake_put(idle + (uint64_t)layout->thread_interpreter, INTERPRETER);
        fake_put(idle + (uint64_t)layout->thread_next, THREAD);
        is_int(attach_refresh(&target), ATTACH_READY);
    }
}

TEST("attach: a Python that has not begun is looked at once: nothing in it can be torn")
{
    for (int minor = 8; minor <= 13; minor++) {
        begin(minor);
        // in the thread itself, which has no call on the C stack
        if (target.layout.thread_frame < 0)
            put_thread(target.layout.thread_cframe, THREAD + 336);
        else
            put_current(0);
        is_int(attach_settle(&target), ATTACH_NOT_YET);
        ok(fake.reads <= 6);
        fake_put(INTERPRETER + (uint64_t)target.layout.interpreter_threads, 0);
        fake.reads = 0;
        is_int(attach_settle(&target), ATTACH_NOT_YET);
        ok(fake.reads <= 5);
        fake_put(FAKE_BASE + (uint64_t)target.layout.runtime_interpreters, 0);
        fake.reads = 0;
        is_int(attach_settle(&target), ATTACH_NOT_YET); // or has ended
        is_u64(fake.reads, 1);
    }
}

TEST("attach: hundreds of threads outside Python beside one that runs are no objection")
{
    enum { IDLE = 300 }; // the newest are first
    const uint64_t first = FAKE_BASE + 0x10000;
    for (int minor = 8; minor <= 13; minor++) {
        begin(minor);
        const struct layout *layout = &target.layout;
        fake_put(INTERPRETER + (uint64_t)layout->interpreter_threads, first);
        for (uint64_t i = 0; i < IDLE; i++) {
            const uint64_t idle = first + i * LAYOUT_THREAD_BYTES;
            fake_put(idle + (uint64_t)layout->thread_interpreter, INTERPRETER);
            fake_put(idle + (uint64_t)layout->thread_next,
                     i + 1 < IDLE ? idle + LAYOUT_THREAD_BYTES : THREAD);
        }
        is_int(attach_refresh(&target), ATTACH_READY);
    }
}

TEST("attach: a list of threads that leads round in a circle ends")
{
    begin(13);
    put_current(0);
    put_thread(target.layout.thread_next, THREAD);
    is_int(attach_settle(&target), ATTACH_NOT_YET);
    ok(fake.reads < 20000);
}
