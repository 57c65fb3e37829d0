// SPDX-License-Identifier: Apache-2.0
// Fuzzes the way from a process's memory to its stacks: the input is all there is
// of a process, and half of its words lead somewhere in it. Whatever it holds,
// rounds end and no byte outside is touched.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "sample/python_process.h"

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
    return 0;
}
