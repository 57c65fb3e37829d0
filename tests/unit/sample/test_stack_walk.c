// SPDX-License-Identifier: Apache-2.0
// Stacks in a process that is only memory, which changes while it is read.
#include "sample/look/stack_walk.h"

#include "support/fake_code.h"
#include "support/tap.h"

#define STATE (FAKE_BASE + 0x1000)
#define LOCK (FAKE_BASE + 0x2000)
#define CHUNK (FAKE_BASE + 0x4000)
#define CHUNK_BYTES 16384u
#define HEAP (FAKE_BASE + 0x10000)
#define SHIM (FAKE_BASE + 0x20000) // the interpreter's own frame below the root, from 3.12
#define FRAME_STEP 128u
#define CODE(n) (FAKE_BASE + 0x30000 + 512u * (n))

static struct target target;
static struct snapshot_read gather;
static struct stack_walk walk;
static struct code_cache codes;
static struct stack_trie trie;
static struct python_thread *thread;

static uint64_t frame_at(uint32_t n)
{
    return target.minor >= 11 ? CHUNK + 64 + n * FRAME_STEP : HEAP + n * 512u;
}

static void put_frame(uint32_t n, uint64_t code, uint64_t instruction)
{
    const struct layout *layout = &target.layout;
    const uint64_t at = frame_at(n);
    if (layout->minor <= 10)
        fake_put(at, 1); // references
    const uint64_t below_root = layout->minor >= 12 ? SHIM : 0;
    fake_put(at + (uint64_t)layout->frame_previous, n ? frame_at(n - 1) : below_root);
    const uint64_t tag = layout->frame_tags & 1; // as a reference that is not counted
    fake_put(at + (uint64_t)layout->frame_code, code | tag);
    if (layout->minor >= 11)
        fake_put(at + (uint64_t)layout->frame_instruction, instruction);
    else
        fake_put32(at + (uint64_t)layout->frame_instruction, (uint32_t)instruction);
}

// From 3.11 the current frame runs, and its callers wait for it.
static void put_top(uint64_t frame, uint32_t top)
{
    if (target.layout.frame_top >= 0)
        fake_put32(frame + (uint64_t)target.layout.frame_top, top);
}

static void put_current(uint64_t frame)
{
    uint64_t before;
    memcpy(&before, fake.bytes + (STATE - FAKE_BASE) + target.layout.thread_frame, 8);
    if (before)
        put_top(before, 3);
    if (frame && frame - FAKE_BASE < FAKE_BYTES - 256)
        put_top(frame, UINT32_MAX);
    fake_put(STATE + (uint64_t)target.layout.thread_frame, frame);
}

// A thread with frames 0 (the root) to `depth` - 1.
static void begin(int minor, uint32_t depth)
{
    fake_init(&target, minor);
    target.gil = LOCK;
    for (uint32_t n = 0; n < depth; n++)
        put_frame(n, CODE(n), 100 + n);
    put_current(frame_at(depth - 1));
    if (minor >= 12)
        fake.bytes[SHIM - FAKE_BASE + (uint64_t)target.layout.frame_owner] =
            (uint8_t)target.layout.frame_owner_shim;
    if (minor >= 11) {
        fake_put(STATE + (uint64_t)target.layout.thread_chunk, CHUNK);
        fake_put(STATE + (uint64_t)target.layout.thread_top, frame_at(depth));
        fake_put(CHUNK + (uint64_t)target.layout.chunk_size, CHUNK_BYTES);
    }
    ok(snapshot_read_init(&gather, &target) == 0);
    gather.slow_ns = gather.delay_ns = UINT64_MAX / 2; // a busy machine is none of these cases
    ok(stack_trie_init(&trie) == 0);
    ok(code_cache_init(&codes, &target, &trie) == 0);
    ok(python_thread_create(STATE, &thread) == 0);
    python_thread_expect(thread, &target);
    thread->top = frame_at(depth - 1);
    thread->root = CODE(0);
}

static void end(void)
{
    fake.between = NULL;
    python_thread_destroy(thread);
    code_cache_finish(&codes);
    stack_trie_finish(&trie);
    snapshot_read_finish(&gather);
}

static enum walk_result look(bool is_double)
{
    snapshot_read_begin(&gather);
    snapshot_read_add(&gather, thread, is_double);
    if (!ok(snapshot_read_all(&gather) == SNAPSHOT_READ_DONE))
        return WALK_TORN;
    return stack_walk(&walk, &gather, &codes, thread);
}

// After the thread's state was read the pieces are those of the second copy.
static size_t state_piece(void)
{
    size_t at = 0;
    while (at < gather.count && (uintptr_t)gather.pieces[at].iov_base - STATE > 512)
        at++;
    return at;
}

TEST("stack_walk: a stack that holds still is read to its root, on every version")
{
    static const int minors[] = {8, 9, 10, 13, 14, 15};
    for (size_t i = 0; i < 4; i++) {
        begin(minors[i], 20);
        is_int(look(true), WALK_DONE);
        is_u64(walk.count, 20);
        is_u64(walk.frames[0].code, CODE(19));
        is_u64(walk.frames[19].code, CODE(0));
        is_int(look(false), WALK_DONE);
        is_u64(walk.count, 20);
        end();
    }
}

static void third_calls_another(size_t piece)
{
    if (piece == state_piece() + 1) {
        put_frame(3, CODE(50), 7);
        put_frame(2, CODE(2), 333); // its caller went on
    }
}

TEST("stack_walk: what changed meanwhile is cut off, its caller stays")
{
    static const int minors[] = {10, 13, 14};
    for (size_t i = 0; i < 2; i++) {
        begin(minors[i], 6);
        fake.between = third_calls_another;
        is_int(look(true), WALK_CUT);
        is_u64(walk.count - walk.doubtful, 3);
        is_u64(walk.frames[walk.doubtful].code, CODE(2));
        is_u64(walk.frames[walk.doubtful + 2].code, CODE(0));
        end();
    }
}

static void leaf_goes_on(size_t piece)
{
    if (piece == state_piece() + 1)
        put_frame(5, CODE(5), 999);
}

TEST("stack_walk: a leaf that goes on in its own code is no difference, and stands where it was")
{
    begin(13, 6);
    fake.between = leaf_goes_on;
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 6);
    is_u64(walk.frames[0].instruction, 105);
    end();
}

static void leaf_dies(size_t piece)
{
    if (piece == state_piece() + 1) {
        fake_put(frame_at(5), 0); // references
        fake_put(frame_at(5) + (uint64_t)target.layout.frame_previous,
                 frame_at(8)); // the free list
    }
}

TEST("stack_walk: links of a frame that is done are not followed")
{
    begin(10, 6);
    fake_put(frame_at(8) + (uint64_t)target.layout.frame_code, CODE(8));
    fake.between = leaf_dies;
    is_int(look(true), WALK_CUT);
    is_u64(walk.count - walk.doubtful, 5);
    is_u64(walk.frames[walk.doubtful].code, CODE(4));
    end();
}

TEST("stack_walk: links that lead round in a circle end as torn or deep, not never")
{
    begin(13, 6);
    fake_put(frame_at(0) + (uint64_t)target.layout.frame_previous, frame_at(3));
    is_int(look(true), WALK_DONE);
    ok(walk.is_deep);
    is_u64(walk.count, PYTHON_THREAD_DEPTH);
    end();
    begin(10, 6);
    fake_put(frame_at(0) + (uint64_t)target.layout.frame_previous, frame_at(3));
    for (uint32_t n = 0; n < 6; n++)
        fake_put(frame_at(n), 0);
    is_int(look(true), WALK_TORN);
    fake_put(frame_at(4), 1); // some of them live
    is_int(look(true), WALK_TORN);
    end();
}

// Bytes of the chunk that a look reads.
static size_t chunk_bytes(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < gather.count; i++)
        if ((uintptr_t)gather.pieces[i].iov_base - CHUNK < CHUNK_BYTES)
            bytes += gather.pieces[i].iov_len;
    return bytes;
}

TEST("stack_walk: far from the leaf frames are read once when a look follows another")
{
    begin(13, 60);
    is_int(look(true), WALK_DONE);
    const size_t whole = chunk_bytes();
    ok(thread->edge > frame_at(30) && thread->edge < frame_at(42));
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 60);
    is_u64(walk.frames[0].code, CODE(59));
    is_u64(walk.frames[59].code, CODE(0));
    ok(chunk_bytes() + 4096 < whole);
    put_frame(60, CODE(60), 7);
    put_current(frame_at(60));
    is_int(look(true), WALK_DONE); // a call since
    is_u64(walk.count, 61);
    end();
}

static void stack_begins_anew(size_t piece)
{
    if (piece == state_piece() + 1)
        for (uint32_t n = 0; n < 45; n++)
            put_frame(n, CODE(60), n);
}

TEST("stack_walk: what was read once is not believed when the frame above it moved")
{
    begin(13, 60);
    is_int(look(true), WALK_DONE);
    fake.between = stack_begins_anew;
    is_int(look(true), WALK_UNKNOWN); // and nothing is to be learned of it
    is_u64(walk.unknown, 0);
    fake.between = NULL;
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 60);
    end();
}

TEST("stack_walk: a stack that became flat since is read anew, whole")
{
    static const uint32_t leaves[] = {45, 20, 2}; // near the edge, below it, far below
    for (size_t i = 0; i < 3; i++) {
        begin(13, 60);
        is_int(look(true), WALK_DONE);
        put_current(frame_at(leaves[i]));
        is_int(look(true), WALK_UNKNOWN);
        is_u64(walk.unknown, 0);
        is_int(look(true), WALK_DONE);
        is_u64(walk.count, leaves[i] + 1);
        end();
    }
}

// Pieces that hold that frame.
static size_t copies_of(uint32_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < gather.count; i++)
        count += frame_at(n) - (uintptr_t)gather.pieces[i].iov_base < gather.pieces[i].iov_len;
    return count;
}

TEST("stack_walk: frames on the heap far from the leaf are read once, under one read thrice")
{
    begin(10, 40);
    is_int(look(true), WALK_DONE);
    is_u64(copies_of(2), 2);
    const uint32_t edge = 39 - SNAPSHOT_READ_NEAR;
    is_u64(thread->edge, frame_at(edge));
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 40);
    is_u64(walk.frames[39].code, CODE(0));
    is_u64(copies_of(2), 1);
    is_u64(copies_of(edge), 3);
    is_u64(copies_of(39), 2);
    end();
}

static void edge_goes_on_at_the_end(size_t piece)
{
    if (piece + 2 == gather.count) // what comes last before the lock
        put_frame(39 - SNAPSHOT_READ_NEAR, CODE(39 - SNAPSHOT_READ_NEAR), 999);
}

TEST("stack_walk: the heap: nothing is believed under an edge that moved at the end")
{
    begin(10, 40);
    is_int(look(true), WALK_DONE);
    fake.between = edge_goes_on_at_the_end;
    is_int(look(true), WALK_UNKNOWN);
    is_u64(walk.unknown, 0);
    fake.between = NULL;
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 40);
    end();
}

TEST("stack_walk: a look that was held up proves nothing of frames that were read once")
{
    static const int minors[] = {8, 10, 13, 14};
    for (size_t i = 0; i < 3; i++) {
        begin(minors[i], 60);
        is_int(look(true), WALK_DONE);
        gather.delay_ns = 0;
        gather.usual = 0; // any time is longer
        is_int(look(true), WALK_UNKNOWN);
        is_u64(walk.unknown, 0);
        is_int(look(true), WALK_DONE); // all is read twice
        is_u64(walk.count, 60);
        end();
    }
}

static void far_frames_lead_round(size_t piece)
{
    if (piece == state_piece() + 1)
        fake_put(frame_at(3) + (uint64_t)target.layout.frame_previous, frame_at(9));
}

TEST("stack_walk: a circle of frames that were read once is no deep stack")
{
    static const int minors[] = {8, 10, 13, 14};
    for (size_t i = 0; i < 3; i++) {
        begin(minors[i], 40);
        is_int(look(true), WALK_DONE);
        fake.between = far_frames_lead_round;
        is_int(look(true), WALK_UNKNOWN);
        is_u64(walk.unknown, 0);
        fake.between = NULL;
        end();
    }
}

TEST("stack_walk: a frame that was not expected is learned with its callers")
{
    begin(10, 4);
    for (uint32_t n = 4; n < 9; n++)
        put_frame(n, CODE(n), n);
    put_current(frame_at(8));
    thread->patch_count = 0;
    is_int(look(true), WALK_UNKNOWN);
    is_u64(walk.unknown, frame_at(8));
    python_thread_learn(thread, &target, walk.unknown);
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 9);
    end();
}

TEST("stack_walk: a thread outside Python has no frames")
{
    begin(13, 3);
    put_current(0);
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 0);
    end();
}

TEST("stack_walk: memory that went away is expected no more")
{
    begin(10, 4);
    thread->patch_count = 0;
    put_current(FAKE_BASE + FAKE_BYTES - 4);
    is_int(look(true), WALK_UNKNOWN);
    python_thread_learn(thread, &target, walk.unknown);
    is_u64(thread->patch_count, 0);
    end();
}

TEST("stack_walk: a stack that ends with a waiting generator is not a stack")
{
    begin(13, 6);
    fake_put(frame_at(5) + (uint64_t)target.layout.frame_previous, 0);
    is_int(look(true), WALK_TORN);
    end();
    begin(10, 6);
    is_int(look(false), WALK_DONE);
    fake_put(frame_at(5) + (uint64_t)target.layout.frame_previous, 0);
    is_int(look(true), WALK_TORN);
    is_int(look(true), WALK_DONE); // seen twice: a thread that began anew
    is_u64(walk.count, 1);
    end();
}

TEST("stack_walk: where the current frame runs in neither copy all of it is in doubt")
{
    begin(13, 6);
    put_top(frame_at(5), 3); // it ended, and lies there as it was
    is_int(look(true), WALK_CUT);
    is_u64(walk.count, 6);
    is_u64(walk.doubtful, 6);
    is_int(look(false), WALK_DONE); // of a thread that cannot have run that is no news
    end();
}

static void leaf_ends_and_its_caller_calls_another(size_t piece)
{
    if (piece == state_piece() + 1) {
        fake_put(frame_at(5), 0); // references
        put_frame(4, CODE(44), 7);
    }
}

TEST("stack_walk: a current frame that ended is followed where it was alive")
{
    begin(10, 6);
    fake.between = leaf_ends_and_its_caller_calls_another;
    is_int(look(true), WALK_CUT);
    is_u64(walk.frames[0].code, CODE(5));
    is_u64(walk.frames[1].code, CODE(4));
    is_u64(walk.count - walk.doubtful, 4);
    end();
}

TEST("stack_walk: who runs itself does not wait for the frame above")
{
    begin(13, 6);
    put_top(frame_at(3), UINT32_MAX);
    is_int(look(true), WALK_CUT);
    is_u64(walk.count - walk.doubtful, 3 + 1);
    is_u64(walk.frames[walk.doubtful].code, CODE(3));
    end();
}

#define GENERATOR (HEAP + 0x800)

// The innermost frame is a generator's, as a loop in the one below resumes it.
static void begin_in_generator(int minor)
{
    begin(minor, 6);
    const struct layout *layout = &target.layout;
    const uint64_t at = minor >= 11 ? GENERATOR : frame_at(5);
    fake_put(at + (uint64_t)layout->frame_previous, frame_at(4));
    fake_put(at + (uint64_t)layout->frame_code, CODE(9));
    if (minor <= 10)
        fake_put(at + (uint64_t)layout->frame_generator, at);
    else
        fake.bytes[at - FAKE_BASE + (uint64_t)layout->frame_owner] = 1;
    put_current(at);
    thread->patch_count = 0;
    python_thread_expect(thread, &target);
}

TEST("stack_walk: a generator that waits in both copies returns to whom it last did")
{
    static const int minors[] = {8, 10, 13, 14};
    for (size_t i = 0; i < 3; i++) {
        begin_in_generator(minors[i]);
        const uint64_t at = minors[i] >= 11 ? GENERATOR : frame_at(5);
        is_int(look(true), WALK_DONE);
        is_u64(walk.count, 6);
        put_top(at, 3);
        fake_put(at + (uint64_t)target.layout.frame_previous, 0);
        is_int(look(true), WALK_CUT);
        is_u64(walk.count, 6);
        is_u64(walk.doubtful, 6); // a leaf on the heap is one's own
        is_u64(walk.frames[1].code, CODE(4));
        fake_put(at + (uint64_t)target.layout.frame_code, CODE(8)); // another one, there
        is_int(look(true), WALK_TORN);
        end();
    }
}

enum { ASKS = 4, CALLED = 5 }; // frames: who asks the generator, and whom it calls

static uint64_t called_from; // the generator's frame, or one of the interpreter's that leads to it

// A generator that calls: its own frame is elsewhere, between two of the chunk.
static void begin_under_generator(bool is_by_c)
{
    struct code_place place;
    begin_in_generator(13);
    for (uint32_t n = ASKS; n <= CALLED; n++) {
        fake_code(&target, n, (FRAME_STEP - 72) / 8);
        ok(code_cache_place(&codes, FAKE_CODE(n), 0, &place) == 0);
        put_frame(n, FAKE_CODE(n), fake_instruction(&target.layout, n, UNIT_CALL));
    }
    put_top(frame_at(ASKS), 3);
    called_from = is_by_c ? SHIM + 256 : GENERATOR;
    fake_put(SHIM + 256 + (uint64_t)target.layout.frame_previous, GENERATOR);
    fake.bytes[SHIM + 256 - FAKE_BASE + (uint64_t)target.layout.frame_owner] =
        (uint8_t)target.layout.frame_owner_shim;
    fake_put(frame_at(CALLED) + (uint64_t)target.layout.frame_previous, called_from);
    put_current(frame_at(CALLED));
    put_top(GENERATOR, is_by_c ? UINT32_MAX : 3);
    python_thread_expect(thread, &target);
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 7);
}

static void call_returns(size_t piece)
{
    if (piece == state_piece() + 1) {
        put_top(frame_at(CALLED), 3);
        put_frame(CALLED, FAKE_CODE(CALLED), fake_instruction(&target.layout, CALLED, UNIT_RETURN));
        fake_put(frame_at(CALLED) + (uint64_t)target.layout.frame_previous, called_from);
    }
}

static void call_begins(size_t piece)
{
    if (piece == state_piece() + 1)
        put_top(frame_at(CALLED), UINT32_MAX);
}

TEST("stack_walk: whom a generator calls, and who asks it, are told by the moment it is seen in")
{
    for (int is_by_c = 0; is_by_c < 2; is_by_c++) {
        begin_under_generator(is_by_c);
        fake.between = call_returns; // the generator runs, or the one that asks: nobody knows
        is_int(look(true), WALK_CUT);
        is_u64(walk.frames[0].code, FAKE_CODE(CALLED));
        fake.between = NULL;
        put_current(frame_at(ASKS));
        fake.between = call_begins;
        (void)look(true);
        is_u64(walk.frames[0].code, FAKE_CODE(ASKS));
        end();
    }
}

// The caller of the leaf waits at the head of a loop, or behind it.
static void begin_in_loop(enum fake_unit unit)
{
    struct code_place place;
    begin(13, 5);
    fake_code(&target, 3, 4);
    uint8_t *code = fake.bytes + (fake_instruction(&target.layout, 3, UNIT_BEGIN) - FAKE_BASE);
    code[2 * UNIT_LOAD] = (uint8_t)target.layout.op_loop_generator;
    code[2 * UNIT_LOAD + 1] = 0;
    code[2 * UNIT_POP] = (uint8_t)target.layout.op_loop_end;
    ok(code_cache_place(&codes, FAKE_CODE(3), 0, &place) == 0);
    put_frame(3, FAKE_CODE(3), fake_instruction(&target.layout, 3, unit));
    put_top(frame_at(3), 3);
}

TEST("stack_walk: a frame above one that waits for a generator has the caller of another")
{
    begin_in_loop(UNIT_LOAD);
    is_int(look(true), WALK_CUT);
    is_u64(walk.doubtful, 1);
    end();
    begin_in_loop(UNIT_POP);
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 5);
    end();
}

TEST("stack_walk: a guess is none any more when a frame was met there")
{
    begin_in_generator(13);
    struct patch *patch = python_thread_patch(thread, GENERATOR, 72);
    if (!ok(patch))
        return;
    patch->is_guess = true;
    fake.bytes[GENERATOR - FAKE_BASE + (uint64_t)target.layout.frame_owner] = 0x55; // or what not
    (void)look(true);
    ok(patch->is_guess);
    fake.bytes[GENERATOR - FAKE_BASE + (uint64_t)target.layout.frame_owner] = 1;
    is_int(look(true), WALK_DONE);
    ok(!patch->is_guess);
    end();
}

static void call_from_c_begins(size_t piece)
{
    if (piece == state_piece() + 1)
        fake.bytes[SHIM - FAKE_BASE + (uint64_t)target.layout.frame_owner] =
            (uint8_t)target.layout.frame_owner_shim;
}

TEST("stack_walk: a call from C that is over in a copy leads where it did when it was alive")
{
    begin(13, 6);
    fake_put(frame_at(3) + (uint64_t)target.layout.frame_previous, SHIM); // 2 calls 3 by C
    fake_put(SHIM + (uint64_t)target.layout.frame_previous, frame_at(2));
    fake_put(frame_at(0) + (uint64_t)target.layout.frame_previous, SHIM + 256);
    fake.bytes[SHIM + 256 - FAKE_BASE + (uint64_t)target.layout.frame_owner] =
        (uint8_t)target.layout.frame_owner_shim;
    put_top(frame_at(2), UINT32_MAX);
    thread->patch_count = 0;
    python_thread_expect(thread, &target);
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 6);
    fake.bytes[SHIM - FAKE_BASE + (uint64_t)target.layout.frame_owner] = 0x55; // other C code
    fake_put(SHIM + (uint64_t)target.layout.frame_previous, CODE(7));
    is_int(look(true), WALK_CUT);
    is_u64(walk.count, 6);
    is_u64(walk.doubtful, 6);
    fake_put(SHIM + (uint64_t)target.layout.frame_previous, frame_at(2));
    fake.between = call_from_c_begins;
    is_int(look(true), WALK_CUT);
    is_u64(walk.count, 6);
    is_u64(walk.count - walk.doubtful, 3);
    end();
}

#define OLDER(n) (FAKE_BASE + 0x10000 + CHUNK_BYTES * (uint64_t)(n)) // chunks below, 0 to 3

// 60 frames in a chunk, and one in the last of so many below it.
static uint64_t begin_in_chunks(uint64_t below)
{
    begin(13, 60);
    const struct layout *layout = &target.layout;
    const uint64_t root = OLDER(below - 1) + 64;
    fake_put(CHUNK + (uint64_t)layout->chunk_previous, OLDER(0));
    for (uint64_t n = 0; n < below; n++) {
        fake_put(OLDER(n) + (uint64_t)layout->chunk_size, CHUNK_BYTES);
        fake_put(OLDER(n) + (uint64_t)layout->chunk_top, CHUNK_BYTES / 8);
        fake_put(OLDER(n) + (uint64_t)layout->chunk_previous, n + 1 < below ? OLDER(n + 1) : 0);
    }
    fake_put(frame_at(0) + (uint64_t)layout->frame_previous, root);
    fake_put(root + (uint64_t)layout->frame_previous, SHIM);
    fake_put(root + (uint64_t)layout->frame_code, CODE(0));
    python_thread_expect(thread, &target);
    return root;
}

TEST("stack_walk: no frame is made of what was read behind a chunk")
{
    const uint64_t root = begin_in_chunks(4);
    is_int(look(true), WALK_DONE);
    is_u64(walk.count, 61);
    is_u64(thread->chunks[4].single, CHUNK_BYTES); // so far from the leaf it is read once
    fake_put(root + (uint64_t)target.layout.frame_previous, OLDER(3) + CHUNK_BYTES - 8);
    is_int(look(true), WALK_UNKNOWN);
    is_u64(walk.count, 61);
    end();
}

TEST("stack_walk: a stack of several chunks takes one look, also right after another")
{
    begin_in_chunks(1);
    for (int i = 0; i < 3; i++) {
        is_int(look(true), WALK_DONE);
        is_u64(walk.count, 61);
        is_u64(walk.doubtful, 0);
    }
    end();
}
