// SPDX-License-Identifier: Apache-2.0
#include "sample/cpython/code_cache.h"

#include <malloc.h>

#include "support/fake_code.h"
#include "support/tap.h"

#define CODE (FAKE_BASE + 0x1000)
#define TYPE (FAKE_BASE + 0x2000)
#define TEXT(n) (FAKE_BASE + 0x3000 + 512u * (n))
#define LINES (FAKE_BASE + 0x8000)

static struct target target;
static struct stack_trie trie;
static struct code_cache cache;

static void put_code(uint32_t text, uint32_t first_line)
{
    const struct layout *layout = &target.layout;
    fake_put(CODE + (uint64_t)layout->object_type, TYPE);
    fake_put(CODE + (uint64_t)layout->code_name, TEXT(text));
    if (layout->code_qualified >= 0)
        fake_put(CODE + (uint64_t)layout->code_qualified, TEXT(text));
    fake_put(CODE + (uint64_t)layout->code_file, TEXT(0));
    fake_put(CODE + (uint64_t)layout->code_lines, LINES);
    fake_put32(CODE + (uint64_t)layout->code_first_line, first_line);
}

static bool begin_minor(int minor)
{
    fake_init(&target, minor);
    target.code_type = TYPE;
    fake_text(&target.layout, TEXT(0), "/x/train.py");
    fake_text(&target.layout, TEXT(1), "step");
    fake_text(&target.layout, TEXT(2), "other");
    fake_put(LINES + (uint64_t)target.layout.sized_count, 2);
    // one line for 16 bytes of code: the one after the first
    fake.bytes[LINES - FAKE_BASE + (uint64_t)target.layout.bytes_data] = 0x80 | 13 << 3 | 7;
    fake.bytes[LINES - FAKE_BASE + (uint64_t)target.layout.bytes_data + 1] = 2;
    put_code(1, 40);
    return ok(stack_trie_init(&trie) == 0) && ok(code_cache_init(&cache, &target, &trie) == 0);
}

static bool begin(void)
{
    return begin_minor(13);
}

static void end(void)
{
    code_cache_finish(&cache);
    stack_trie_finish(&trie);
}

static uint64_t instruction(uint32_t offset)
{
    return CODE + (uint64_t)target.layout.code_instructions + offset;
}

TEST("code_cache: a function has its name, its file and the line of the instruction")
{
    struct code_place place;
    if (!begin())
        return;
    is_int(code_cache_place(&cache, CODE, instruction(6), &place), 0);
    is_str(trie.sites[place.site].name, "step");
    is_str(trie.sites[place.site].file, "/x/train.py");
    is_int(trie.sites[place.site].line, 40);
    is_int(place.line, 41);
    is_int(code_cache_place(&cache, CODE, instruction(999), &place), 0);
    is_int(place.line, 40); // behind its last line
    end();
}

TEST("code_cache: an address that another function took over is another function")
{
    struct code_place place;
    if (!begin())
        return;
    is_int(code_cache_place(&cache, CODE, instruction(0), &place), 0);
    const uint64_t reads = fake.reads;
    is_int(code_cache_place(&cache, CODE, instruction(0), &place), 0);
    is_u64(fake.reads, reads); // not asked again in one look
    put_code(2, 7);
    code_cache_begin(&cache);
    ok(!code_cache_known(&cache, CODE, instruction(0), &place));
    is_int(code_cache_place(&cache, CODE, instruction(0), &place), 0);
    is_str(trie.sites[place.site].name, "other");
    is_u64(cache.reused, 1);
    end();
}

TEST("code_cache: where code objects have no number their texts are compared, too")
{
    static const int minors[] = {8, 11};
    for (size_t i = 0; i < 2; i++) {
        struct code_place place;
        if (!begin_minor(minors[i]))
            return;
        is_int(code_cache_place(&cache, CODE, 0, &place), 0);
        fake_text(&target.layout, TEXT(1), "step"); // the same
        code_cache_begin(&cache);
        const uint64_t reads = fake.reads;
        is_int(code_cache_place(&cache, CODE, 0, &place), 0);
        is_u64(fake.reads, reads + 1);
        fake_text(&target.layout, TEXT(1), "stop"); // all that points to it is as it was
        code_cache_begin(&cache);
        is_int(code_cache_place(&cache, CODE, 0, &place), 0);
        is_str(trie.sites[place.site].name, "stop");
        fake_text(&target.layout, TEXT(0), "/x/tr4in.py");
        code_cache_begin(&cache);
        is_int(code_cache_place(&cache, CODE, 0, &place), 0);
        is_str(trie.sites[place.site].file, "/x/tr4in.py");
        is_u64(cache.reused, 2);
        end();
    }
}

TEST("code_cache: a code object with another number is another one, whatever else is equal")
{
    struct code_place place;
    if (!begin())
        return;
    fake_put32(CODE + (uint64_t)target.layout.code_version, 5);
    is_int(code_cache_place(&cache, CODE, 0, &place), 0);
    fake_text(&target.layout, TEXT(1), "stop");
    fake_put32(CODE + (uint64_t)target.layout.code_version, 6);
    code_cache_begin(&cache);
    is_int(code_cache_place(&cache, CODE, 0, &place), 0);
    is_str(trie.sites[place.site].name, "stop");
    end();
}

TEST("code_cache: what is no code object is refused")
{
    struct code_place place;
    if (!begin())
        return;
    fake_put(CODE + (uint64_t)target.layout.object_type, TYPE + 64);
    ok(code_cache_place(&cache, CODE, instruction(0), &place) < 0);
    ok(code_cache_place(&cache, CODE + 3, instruction(0), &place) < 0);
    ok(code_cache_place(&cache, FAKE_BASE + FAKE_BYTES - 16, 0, &place) < 0);
    fake_put(CODE + (uint64_t)target.layout.object_type, TYPE);
    fake_put(CODE + (uint64_t)target.layout.code_file, 12345);
    ok(code_cache_place(&cache, CODE, instruction(0), &place) < 0);
    end();
}

TEST("code_cache: frames of the interpreter's own bear no function's name")
{
    struct code_place place;
    if (!begin())
        return;
    is_int(code_cache_place(&cache, CODE, instruction(0), &place), 0);
    ok(!place.is_hidden);
    put_code(2, 0);
    fake_put(CODE + (uint64_t)target.layout.code_file, TEXT(2)); // __init__ in __init__
    code_cache_begin(&cache);
    is_int(code_cache_place(&cache, CODE, instruction(0), &place), 0);
    ok(place.is_hidden);
    fake_text(&target.layout, TEXT(3), "<shim>"); // seen after its call was over
    fake_put(CODE + (uint64_t)target.layout.code_file, TEXT(3));
    code_cache_begin(&cache);
    ok(code_cache_place(&cache, CODE, instruction(0), &place) < 0);
    end();
}

// A function of the kind in fake_code.h, known to the cache.
static bool begin_known(int minor)
{
    struct code_place place;
    fake_init(&target, minor);
    fake_code(&target, 1, 5);
    return ok(stack_trie_init(&trie) == 0) && ok(code_cache_init(&cache, &target, &trie) == 0) &&
           ok(code_cache_place(&cache, FAKE_CODE(1), 0, &place) == 0) &&
           is_u64(code_cache_frame_bytes(&cache, FAKE_CODE(1)), 72 + 8 * 5);
}

static bool can_wait_at(int32_t offset)
{
    const uint64_t begin = FAKE_CODE(1) + (uint64_t)target.layout.code_instructions;
    return code_cache_can_wait(&cache, FAKE_CODE(1), begin + (uint64_t)(int64_t)offset);
}

TEST("code_cache: a function waits neither at its beginning nor at a return, nor outside")
{
    for (int minor = 11; minor <= 13; minor++) {
        if (!begin_known(minor))
            return;
        ok(!can_wait_at(-2)); // where one begins up to 3.12
        ok(!can_wait_at(2 * UNIT_BEGIN));
        ok(can_wait_at(2 * UNIT_LOAD));
        ok(can_wait_at(2 * UNIT_CALL));
        ok(can_wait_at(2 * UNIT_POP));
        ok(!can_wait_at(2 * UNIT_RETURN));
        is_int(can_wait_at(2 * UNIT_RETURN_CONST), minor == 11);
        ok(can_wait_at(2 * UNIT_DATA));
        ok(can_wait_at(2 * UNIT_LAST));
        ok(!can_wait_at(2 * FAKE_UNITS));
        ok(!can_wait_at(INT32_MAX));
        ok(!can_wait_at(-4096));
        ok(!code_cache_can_wait(&cache, FAKE_CODE(1), 0));
        end();
    }
}

TEST("code_cache: a return that a tool watches is one, too")
{
    static const uint8_t watched[2][2] = {{242, 247}, {239, 240}}; // INSTRUMENTED_RETURN_...
    for (int minor = 12; minor <= 13; minor++)
        for (int i = 0; i < 2; i++) {
            struct code_place place;
            if (!begin_known(minor))
                return;
            fake_code(&target, 2, 4);
            const uint64_t at = fake_instruction(&target.layout, 2, UNIT_CALL);
            fake.bytes[at - FAKE_BASE] = watched[minor - 12][i];
            is_int(code_cache_place(&cache, FAKE_CODE(2), 0, &place), 0);
            ok(!code_cache_can_wait(&cache, FAKE_CODE(2), at));
            ok(code_cache_can_wait(&cache, FAKE_CODE(2), at - 2));
            end();
        }
}

TEST("code_cache: of functions that nobody looked at nothing is told")
{
    if (!begin_known(13))
        return;
    fake_code(&target, 2, 4); // it is there
    is_u64(code_cache_frame_bytes(&cache, FAKE_CODE(1)), 72 + 8 * 5);
    is_u64(code_cache_frame_bytes(&cache, FAKE_CODE(2)), 0);
    is_u64(code_cache_frame_bytes(&cache, 0), 0);
    const uint64_t at = fake_instruction(&target.layout, 2, UNIT_CALL);
    ok(!code_cache_can_wait(&cache, FAKE_CODE(2), at));
    ok(!code_cache_can_wait(&cache, 0, at));
    end();
}

TEST("code_cache: where another function lies by now its own code is asked")
{
    struct code_place place;
    if (!begin_known(13))
        return;
    ok(can_wait_at(2 * UNIT_CALL));
    fake_code(&target, 1, 9);
    const uint64_t code = fake_instruction(&target.layout, 1, UNIT_BEGIN);
    fake.bytes[code - FAKE_BASE + 2 * UNIT_CALL] = 36; // RETURN_VALUE
    fake.bytes[code - FAKE_BASE + 2 * UNIT_RETURN] = 30;
    code_cache_begin(&cache);
    is_int(code_cache_place(&cache, FAKE_CODE(1), 0, &place), 0);
    is_u64(code_cache_frame_bytes(&cache, FAKE_CODE(1)), 72 + 8 * 9);
    ok(!can_wait_at(2 * UNIT_CALL));
    ok(can_wait_at(2 * UNIT_RETURN));
    end();
}

static size_t most_read;

static ssize_t note_read(struct memory *memory, void *out, size_t bytes, const struct iovec *pieces,
                         size_t count)
{
    most_read = bytes > most_read ? bytes : most_read;
    return fake_read(memory, out, bytes, pieces, count);
}

TEST("code_cache: code of absurd length has lines, and nobody is known to wait in it")
{
    static const uint64_t lengths[] = {0, (1u << 20) + 1, 1u << 20, UINT64_MAX, UINT64_MAX / 2 + 2};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct code_place place;
        if (!begin_known(13))
            return;
        fake_code(&target, 2, 4);
        fake_put(FAKE_CODE(2) + (uint64_t)target.layout.sized_count, lengths[i]);
        target.memory.read = note_read;
        most_read = 0;
        is_int(code_cache_place(&cache, FAKE_CODE(2), 0, &place), 0);
        is_int(place.line, 30);
        is_u64(code_cache_frame_bytes(&cache, FAKE_CODE(2)), 72 + 8 * 4);
        const uint64_t at = fake_instruction(&target.layout, 2, UNIT_CALL);
        ok(!code_cache_can_wait(&cache, FAKE_CODE(2), at));
        ok(most_read > 0 && most_read <= 2u << 20);
        end();
    }
}

TEST("code_cache: before 3.11 frames do not say whether they wait")
{
    struct code_place place;
    fake_init(&target, 10);
    target.code_type = TYPE;
    fake_text(&target.layout, TEXT(0), "/x/train.py");
    fake_text(&target.layout, TEXT(1), "step");
    put_code(1, 40);
    if (!ok(stack_trie_init(&trie) == 0) || !ok(code_cache_init(&cache, &target, &trie) == 0))
        return;
    fake_put(CODE + (uint64_t)target.layout.sized_count, FAKE_UNITS); // it means other things there
    is_int(code_cache_place(&cache, CODE, 3, &place), 0);
    ok(!code_cache_can_wait(&cache, CODE, 3));
    end();
}

// What malloc() has given away; 0 where the C library does not tell.
static size_t bytes_allocated(void)
{
#if defined(__GLIBC__)
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
#else
    return 0;
#endif
}

TEST("code_cache: functions with endless tables do not fill our memory")
{
    enum { FUNCTIONS = 100, TABLE = 100 << 10 }; // each row takes 24 times its byte
    struct code_place place;
    if (!begin())
        return;
    const struct layout *layout = &target.layout;
    const uint64_t table = FAKE_BASE + 0x10000;
    fake_put(table + (uint64_t)layout->sized_count, TABLE);
    memset(fake.bytes + (table - FAKE_BASE) + layout->bytes_data, 0xf8, TABLE);
    const size_t before = bytes_allocated();
    for (uint64_t i = 1; i <= FUNCTIONS; i++) {
        fake_put(CODE + (uint64_t)layout->code_lines, table);
        fake_put32(CODE + (uint64_t)layout->code_first_line, (uint32_t)i);
        const uint64_t at = FAKE_BASE + 0x30000 + 512 * i;
        memcpy(fake.bytes + (at - FAKE_BASE), fake.bytes + (CODE - FAKE_BASE), 512);
        is_int(code_cache_place(&cache, at, 0, &place), 0);
        is_int(place.line, (int)i);
    }
    ok(bytes_allocated() < before + (100u << 20));
    is_u64(cache.reused, 0);
    code_cache_begin(&cache);
    is_u64(cache.reused, 1); // all is forgotten: no node of a stack before stands for it
    end();
}

TEST("code_cache: what was proven in one look is to be proven in the next, too")
{
    struct code_place place;
    if (!begin())
        return;
    is_int(code_cache_place(&cache, CODE, 0, &place), 0);
    for (int i = 0; i < 3; i++) { // looks that follow each other at once
        code_cache_begin(&cache);
        is_int(code_cache_ask(&cache, CODE, true), CODE_KNOWN);
        is_int(code_cache_ask(&cache, CODE, true), CODE_ASKED);
        ok(!code_cache_known(&cache, CODE, 0, &place));
        is_int(code_cache_place(&cache, CODE, 0, &place), 0);
    }
    is_u64(cache.reused, 0);
    end();
}
