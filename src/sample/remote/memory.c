// SPDX-License-Identifier: Apache-2.0
// process_vm_readv() stops nobody and writes nothing.
#define _GNU_SOURCE
#include "sample/remote/memory.h"

#include <errno.h>
#include <string.h>

static ssize_t read_process(struct memory *memory, void *out, size_t bytes,
                            const struct iovec *pieces, size_t count)
{
    const struct iovec local = {out, bytes};
    ssize_t got = process_vm_readv((pid_t)memory->pid, &local, 1, pieces, count, 0);
    return got < 0 ? -errno : got;
}

void memory_init(struct memory *memory, int64_t pid)
{
    memset(memory, 0, sizeof *memory);
    memory->read = read_process;
    memory->pid = pid;
}

static size_t get(struct memory *memory, uint64_t address, void *out, size_t bytes)
{
    const struct iovec piece = {(void *)(uintptr_t)address, bytes};
    if (!memory_is_address(address) || !memory_is_address(address + bytes))
        return 0;
    memory->calls++;
    memory->pieces++;
    ssize_t got = memory->read(memory, out, bytes, &piece, 1);
    return got > 0 ? (size_t)got : 0;
}

bool memory_get(struct memory *memory, uint64_t address, void *out, size_t bytes)
{
    return get(memory, address, out, bytes) == bytes;
}

// A call that ends on a page that is not there may give nothing at all.
size_t memory_get_some(struct memory *memory, uint64_t address, void *out, size_t bytes)
{
    size_t got = get(memory, address, out, bytes);
    size_t page = MEMORY_PAGE - address % MEMORY_PAGE;
    if (got == 0 && page < bytes)
        got = get(memory, address, out, page);
    return got;
}

uint64_t memory_word(struct memory *memory, uint64_t address)
{
    uint64_t word;
    return memory_get(memory, address, &word, sizeof word) ? word : 0;
}
