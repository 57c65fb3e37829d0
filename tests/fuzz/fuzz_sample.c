// SPDX-License-Identifier: Apache-2.0
// Fuzzes the way from a process's memory to its stacks: the input is all there is
// of a process, and half of its words lead somewhere in it. Whatever it holds,
// rounds end, and so does reading variables; no byte outside is touched, and what
// is to be printed has no control characters.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "sample/cpython/frame_locals.h"
#include "sample/look/python_process.h"

#define BASE UINT64_C(0x10000000)
#define BYTES 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory_bytes[BYTES];
static uint64_t reads;

static ssize_t read_input(struct memory *memory, void *out, size_t bytes,
                          const struct iovec *pieces, size_t count)
{
    size_t done = 0;
    (void)memory;
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = (uint64_t)(uintptr_t)pieces[i].iov_base - BASE;
        if (at > BYTES || pieces[i].iov_len > BYTES - at || done + pieces[i].iov_len > bytes)
            return done ? (ssize_t)done : -EFAULT;
        memcpy((uint8_t *)out + done, memory_bytes + at, pieces[i].iov_len);
        done += pieces[i].iov_len;
        // in motion: a word changes every now and then
        if (++reads % 5 == 0)
            memory_bytes[reads * 8 % BYTES] ^= (uint8_t)reads;
    }
    return (ssize_t)done;
}

static void fill(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 8 <= BYTES; i += 8) {
        uint8_t word[8];
        for (size_t k = 0; k < 8; k++)
            word[k] = data[(i + k) % size];
        uint64_t value = bytes_get64(word);
        if (value & 1)
            value = BASE + (value >> 1) % BYTES / 8 * 8;
        memcpy(memory_bytes + i, &value, 8);
    }
}

// Built-in types, at the end of memory: some words lead to them.
#define TYPES (BASE + BYTES - 16 * 300)

static void put_types(const struct layout *layout)
{
    static const char *const names[16] = {
        "type", "NoneType", "bool",  "int",       "float", "str",   "dict", "bytes",
        "list", "set",      "tuple", "frozenset", "cell",  "other", "list", "\033[7m"};
    for (uint64_t i = 0; i < 16; i++) {
        uint8_t *type = memory_bytes + (TYPES - BASE) + i * 300 / 8 * 8;
        bytes_put64(type + layout->object_type, TYPES);
        bytes_put64(type + layout->type_name, TYPES + i * 300 / 8 * 8 + 64);
        bytes_put64(type + layout->type_flags, 1 << 12 | (i ? 0 : UINT64_C(1) << 31));
        memcpy(type + 64, names[i], strlen(names[i]) + 1);
    }
    for (uint64_t i = 0; i + 8 <= TYPES - BASE; i += 8)
        if (bytes_get64(memory_bytes + i) % 8 == 6)
            bytes_put64(memory_bytes + i,
                        TYPES + bytes_get64(memory_bytes + i) / 8 % 16 * 300 / 8 * 8);
}

static void must_be_plain(const char *text, size_t room)
{
    if (!memchr(text, 0, room))
        abort();
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            abort();
}

// Any word may be an object, any place a frame.
static void read_objects(struct target *target)
{
    static struct object_reader reader;
    static struct frame_chain chain;
    static struct frame_locals locals;
    static char text[OBJECT_TEXT_ROOM];
    char type[OBJECT_TYPE_NAME];
    object_reader_init(&reader, &target->memory, &target->layout);
    for (uint64_t at = BASE; at < BASE + BYTES; at += BYTES / 16) {
        reader.left = 400;
        object_text(&reader, at, text, type);
        must_be_plain(text, sizeof text);
        frame_chain_read(&chain, &reader, at);
        for (uint32_t i = 0; i < chain.count && i < 8; i++) {
            const uint64_t frame = frame_chain_find(&chain, i, chain.codes[chain.count - 1 - i]);
            if (!frame_locals_read(&locals, &chain, frame, chain.codes[chain.count - 1 - i]))
                continue;
            for (size_t k = 0; k < locals.found.count; k++)
                must_be_plain(locals.found.items[k].value, OBJECT_TEXT_ROOM);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stack_trie trie;
    struct python_process process;
    struct target target = {0};
    if (size < 16)
        return 0;
    fill(data + 1, size - 1);
    reads = 0;
    target.minor = 8 + data[0] % 6;
    target.layout = *layout_find(target.minor);
    if (data[0] / 6 % 2)
        put_types(&target.layout);
    memory_init(&target.memory, 0);
    target.memory.read = read_input;
    target.runtime = BASE;
    if (stack_trie_init(&trie))
        return 0;
    if (python_process_init(&process, &target, &trie) == 0) {
        for (uint64_t i = 1; i < 6; i++)
            if (python_process_round(&process, i * 30000000u))
                break;
        python_process_finish(&process);
    }
    stack_trie_finish(&trie);
    read_objects(&target);
    return 0;
}
