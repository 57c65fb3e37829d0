// SPDX-License-Identifier: Apache-2.0
// Reading another process's memory: many pieces in one call, in the order in
// which they are named. Behind a function, so that tests can put any bytes in
// the place of a process.
#ifndef GAIT_SAMPLE_MEMORY_H
#define GAIT_SAMPLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define MEMORY_MAX_PIECES 1024 // of one call (IOV_MAX)
#define MEMORY_PAGE 4096u

struct memory {
    // Bytes read, up to the first piece that is not there, or a negative errno.
    ssize_t (*read)(struct memory *memory, void *out, size_t bytes, const struct iovec *pieces,
                    size_t count);
    int64_t pid;
    uint64_t calls, pieces, bytes; // so far
};

// The memory of a live process.
void memory_init(struct memory *memory, int64_t pid);

// No user address is above that; torn pointers can be anything.
static inline bool memory_is_address(uint64_t address)
{
    return address >= 4096 && address < UINT64_C(1) << 47;
}

// All of it or false.
bool memory_get(struct memory *memory, uint64_t address, void *out, size_t bytes);

// What is there of it; 0 if nothing is.
size_t memory_get_some(struct memory *memory, uint64_t address, void *out, size_t bytes);

// 0 where nothing can be read.
uint64_t memory_word(struct memory *memory, uint64_t address);

#endif
