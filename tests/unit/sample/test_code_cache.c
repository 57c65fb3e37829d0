// SPDX-License-Identifier: Apache-2.0
#include "sample/code_cache.h"

#include "support/fake_process.h"
#include "support/tap.h"

#define CODE (FAKE_BASE + 0x1000)
#define TYPE (FAKE_BASE + 0x2000)
#define TEXT(n) (FAKE_BASE + 0x3000 + 512u * (n))
#define LINES (FAKE_BASE + 0x8000)
#define MS UINT64_C(1000000)

static struct target target;
static struct stack_trie trie;
static struct code_cache cache;

static void put_code(uint32_t text, uint32_t first_line)
{
    const struct layout *layout = &target.layout;
    fake_put(CODE + (uint64_t)layout->object_type, TYPE);
    fake_put(CODE + (uint64_t)layout->code_name, TEXT(text));
    fake_put(CODE + (uint64_t)layout->code_qualified, TEXT(text));
    fake_put(CODE + (uint64_t)layout->code_file, TEXT(0));
    fake_put(CODE + (uint64_t)layout->code_lines, LINES);
    fake_put32(CODE + (uint64_t)layout->code_first_line, first_line);
}

static bool begin(void)
{
    fake_init(&target, 13);
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
    is_int(code_cache_place(&cache, CODE, instruction(6), MS, &place), 0);
    is_str(trie.sites[place.site].name, "step");
    is_str(trie.sites[place.site].file, "/x/train.py");
    is_int(trie.sites[place.site].line, 40);
    is_int(place.line, 41);
    is_int(code_cache_place(&cache, CODE, instruction(999), MS, &place), 0);
    is_int(place.line, 40); // behind its last line
    end();
}

TEST("code_cache: an address that another function took over is another function")
{
    struct code_place place;
    if (!begin())
        return;
    is_int(code_cache_place(&cache, CODE, instruction(0), MS, &place), 0);
    const uint64_t reads = fake.reads;
    is_int(code_cache_place(&cache, CODE, instruction(0), 2 * MS, &place), 0);
    is_u64(fake.reads, reads); // not asked again so soon
    put_code(2, 7);
    is_int(code_cache_place(&cache, CODE, instruction(0), 100 * MS, &place), 0);
    is_str(trie.sites[place.site].name, "other");
    is_u64(cache.reused, 1);
    end();
}

TEST(
    "code_cache: a function that runs all the time is asked after less and less, an absent one not")
{
    struct code_place place;
    if (!begin())
        return;
    for (uint64_t now = 1; now <= 1000; now++)
        is_int(code_cache_place(&cache, CODE, instruction(0), now * MS, &place), 0);
    const uint64_t reads = fake.reads;
    for (uint64_t now = 1001; now <= 2000; now++)
        is_int(code_cache_place(&cache, CODE, instruction(0), now * MS, &place), 0);
    ok(fake.reads > reads && fake.reads - reads <= 8);
    put_code(2, 7); // freed, and another one there, 11 ms later
    is_int(code_cache_place(&cache, CODE, instruction(0), 2011 * MS, &place), 0);
    is_str(trie.sites[place.site].name, "other");
    put_code(1, 40); // where that happens once, it is looked for more often
    for (uint64_t now = 2012; now <= 2022; now++)
        is_int(code_cache_place(&cache, CODE, instruction(0), now * MS, &place), 0);
    is_str(trie.sites[place.site].name, "step");
    end();
}

TEST("code_cache: what is no code object is refused")
{
    struct code_place place;
    if (!begin())
        return;
    fake_put(CODE + (uint64_t)target.layout.object_type, TYPE + 64);
    ok(code_cache_place(&cache, CODE, instruction(0), MS, &place) < 0);
    ok(code_cache_place(&cache, CODE + 3, instruction(0), MS, &place) < 0);
    ok(code_cache_place(&cache, FAKE_BASE + FAKE_BYTES - 16, 0, MS, &place) < 0);
    fake_put(CODE + (uint64_t)target.layout.object_type, TYPE);
    fake_put(CODE + (uint64_t)target.layout.code_file, 12345);
    ok(code_cache_place(&cache, CODE, instruction(0), MS, &place) < 0);
    end();
}

TEST("code_cache: frames of the interpreter's own bear no function's name")
{
    struct code_place place;
    if (!begin())
        return;
    is_int(code_cache_place(&cache, CODE, instruction(0), MS, &place), 0);
    ok(!place.is_hidden);
    put_code(2, 0);
    fake_put(CODE + (uint64_t)target.layout.code_file, TEXT(2)); // __init__ in __init__
    is_int(code_cache_place(&cache, CODE, instruction(0), 100 * MS, &place), 0);
    ok(place.is_hidden);
    fake_text(&target.layout, TEXT(3), "<shim>"); // seen after its call was over
    fake_put(CODE + (uint64_t)target.layout.code_file, TEXT(3));
    ok(code_cache_place(&cache, CODE, instruction(0), 200 * MS, &place) < 0);
    end();
}
