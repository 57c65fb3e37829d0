// SPDX-License-Identifier: Apache-2.0
// Code objects that change while they are asked for, and frames that end meanwhile.
#include "sample/cpython/code_proof.h"

#include "base/clock.h"
#include "support/fake_code.h"
#include "support/tap.h"

#define THREAD (FAKE_BASE + 0x4000)
#define FRAME(n) (FAKE_BASE + 0x8000 + 256u * (n)) // on the heap, as a generator's
#define CHUNK (FAKE_BASE + 0x10000)

// A machine that is slow, or a sanitizer, holds no step up for so long.
#define PATIENT_NS UINT64_C(10000000000)

enum { LEAF, ROOT };

static struct target target;
static struct stack_trie trie;
static struct code_cache codes;
static struct code_proof *proof;
static struct python_thread *thread;
static struct stack_walk *walk;
static uint64_t frames_at;
static uint64_t change_after; // calls to read
static void (*change)(void);

static ssize_t read_and_change(struct memory *memory, void *out, size_t bytes,
                               const struct iovec *pieces, size_t count)
{
    const ssize_t got = fake_read(memory, out, bytes, pieces, count);
    if (change && change_after-- == 0) {
        change();
        change = NULL;
    }
    return got;
}

static uint64_t frame_at(uint32_t n)
{
    return frames_at + 128u * n;
}

// Two frames, the leaf above its caller, in a chunk that is used up to behind them.
static void put_frames(void)
{
    const struct layout *layout = &target.layout;
    for (uint32_t n = 0; n < 2; n++) {
        fake_put(frame_at(n), 1); // references, up to 3.10
        fake_put(frame_at(n) + (uint64_t)layout->frame_code, FAKE_CODE(n));
        walk->at[n] = frame_at(n);
        walk->frames[n] = (struct frame_point){FAKE_CODE(n), FAKE_CODE(n)};
    }
    if (layout->thread_top < 0)
        return;
    fake_put(THREAD + (uint64_t)layout->thread_chunk, CHUNK);
    fake_put(THREAD + (uint64_t)layout->thread_top, frame_at(2));
    thread->chunk_count = 1;
    thread->chunks[0] = (struct chunk){.base = CHUNK, .size = 4096, .bytes = 4096};
}

static bool begin(int minor)
{
    fake_init(&target, minor);
    target.memory.read = read_and_change;
    change = NULL;
    frames_at = CHUNK + 256;
    for (uint32_t n = 0; n < 3; n++)
        fake_code(&target, n, 4);
    walk = calloc(1, sizeof *walk);
    if (!ok(walk != NULL) || !ok(stack_trie_init(&trie) == 0) ||
        !ok(code_cache_init(&codes, &target, &trie) == 0) ||
        !ok(code_proof_create(&codes, PATIENT_NS, &proof) == 0) ||
        !ok(python_thread_create(THREAD, &thread) == 0))
        return false;
    walk->count = 2;
    put_frames();
    return true;
}

static void end(void)
{
    python_thread_destroy(thread);
    code_proof_destroy(proof);
    code_cache_finish(&codes);
    stack_trie_finish(&trie);
    free(walk);
}

// The name of that function in a look that ended just now; "" where it is not proven.
static const char *name_in_look(uint32_t n)
{
    struct code_place place;
    code_cache_begin(&codes);
    walk->read_ns = clock_steady_ns();
    code_proof_make(proof, walk, thread, false);
    return code_cache_known(&codes, FAKE_CODE(n), 0, &place) ? trie.sites[place.site].name : "";
}

static void put_other_code(void)
{
    fake_text(&target.layout, FAKE_NAME(LEAF), "other");
    fake_put32(FAKE_CODE(LEAF) + (uint64_t)target.layout.code_first_line, 99);
}

static void end_leaf(void)
{
    if (target.layout.thread_top >= 0)
        fake_put(THREAD + (uint64_t)target.layout.thread_top, frame_at(0));
    fake_put(frame_at(0), 0);
}

TEST("code_proof: functions that are new are proven while their frames stand")
{
    for (int minor = 11; minor <= 13; minor++) {
        if (!begin(minor))
            return;
        is_str(name_in_look(LEAF), "f0");
        is_str(name_in_look(ROOT), "f1");
        put_other_code();
        is_str(name_in_look(LEAF), "other");
        is_u64(codes.reused, 1);
        end();
    }
}

// 0, 1, ...: calls to read after which it happens, until all are over.
static void check_each_moment(int minor, void (*what)(void), const char *before, const char *after)
{
    for (uint64_t calls = 0; calls < 12; calls++) {
        if (!begin(minor))
            return;
        change = what;
        change_after = calls;
        const char *name = name_in_look(LEAF);
        const bool is_over = change != NULL;
        if (!ok(!*name || strcmp(name, before) == 0 || strcmp(name, after) == 0))
            printf("# %d calls: %s\n", (int)calls, name);
        if (is_over) // it came too late to be seen
            is_str(name, before);
        end();
        if (is_over)
            return;
    }
    ok(false);
}

static void replace_leaf(void)
{
    put_other_code();
    end_leaf();
}

TEST("code_proof: one whose frame ends before it is read is proven for no look")
{
    for (int minor = 11; minor <= 13; minor++) {
        check_each_moment(minor, end_leaf, "f0", "f0");
        check_each_moment(minor, replace_leaf, "f0", "f0"); // never the name of the other
    }
}

static uint64_t pieces_before; // the change happens within a call

static ssize_t read_piece_by_piece(struct memory *memory, void *out, size_t bytes,
                                   const struct iovec *pieces, size_t count)
{
    size_t got = 0;
    (void)bytes;
    for (size_t i = 0; i < count; got += pieces[i++].iov_len) {
        if (change && pieces_before-- == 0) {
            change();
            change = NULL;
        }
        if (fake_read(memory, (uint8_t *)out + got, pieces[i].iov_len, &pieces[i], 1) !=
            (ssize_t)pieces[i].iov_len)
            break;
    }
    return (ssize_t)got;
}

static void put_caller(uint32_t n)
{
    fake_put(frame_at(ROOT) + (uint64_t)target.layout.frame_code, FAKE_CODE(n));
}

static void come_back(void) // the caller of the look, and a callee of another name
{
    put_caller(ROOT);
    fake_text(&target.layout, FAKE_NAME(LEAF), "f0");
}

TEST("code_proof: a name that was there below another caller is not proven")
{
    for (int minor = 11; minor <= 13; minor++)
        for (uint64_t piece = 0; piece < 40; piece++) {
            if (!begin(minor))
                return;
            put_caller(2);
            fake_text(&target.layout, FAKE_NAME(LEAF), "other");
            target.memory.read = read_piece_by_piece;
            change = come_back;
            pieces_before = piece;
            const char *name = name_in_look(LEAF);
            if (!ok(strcmp(name, "other") != 0))
                printf("# 3.%d, piece %d\n", minor, (int)piece);
            end();
        }
}

TEST("code_proof: one that was learned too late for its look is there for the next")
{
    if (!begin(13))
        return;
    struct code_place place;
    code_cache_begin(&codes);
    walk->read_ns = clock_steady_ns() - 2 * PATIENT_NS; // we were put aside
    code_proof_make(proof, walk, thread, false);
    ok(!code_cache_known(&codes, FAKE_CODE(LEAF), 0, &place));
    walk->at[LEAF] = walk->at[ROOT] = 0; // no frame is asked for again
    is_str(name_in_look(LEAF), "f0");
    end();
}

TEST("code_proof: what is known is asked for by one call")
{
    if (!begin(12))
        return;
    is_str(name_in_look(LEAF), "f0");
    const uint64_t reads = fake.reads;
    is_str(name_in_look(LEAF), "f0");
    is_u64(fake.reads, reads + 1);
    end();
}

TEST("code_proof: what moved and is not known is not learned")
{
    if (!begin(13))
        return;
    walk->doubtful = 1;
    is_str(name_in_look(LEAF), "");
    is_str(name_in_look(ROOT), "f1");
    walk->is_fresh = true; // as one copy of one moment has it
    is_str(name_in_look(LEAF), "f0");
    end();
}

TEST("code_proof: an address that holds no code object is proven for nobody, and counted")
{
    if (!begin(13))
        return;
    fake_put(FAKE_CODE(LEAF) + (uint64_t)target.layout.object_type, 12345);
    is_str(name_in_look(LEAF), "");
    is_u64(codes.unreadable, 1);
    walk->frames[LEAF].code = FAKE_BASE + FAKE_BYTES; // nothing is there
    fake_put(frame_at(LEAF) + (uint64_t)target.layout.frame_code, FAKE_BASE + FAKE_BYTES);
    is_str(name_in_look(ROOT), "f1");
    end();
}
