// SPDX-License-Identifier: Apache-2.0
// Addresses of a few symbols in an ELF file, stripped or not, found through its
// dynamic symbols; where those do not have them, through its full table. Every
// offset in the file is checked: it may be anything.
#ifndef GAIT_SAMPLE_ELF_SYMBOLS_H
#define GAIT_SAMPLE_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/remote/memory.h"

struct elf_file {
    const uint8_t *bytes;
    size_t count;
    uint64_t lowest; // address that the first byte of its image wants to have
    uint64_t bias;   // what a loader added to addresses in it; 0 where it is a file
};

// Maps the file behind `fd` (which may be closed then).
GAIT_CHECK int elf_file_open(struct elf_file *file, int fd);

// The same of an image that lies in memory from `start` on, of which nobody has the
// file any more. It has its dynamic symbols only.
GAIT_CHECK int elf_file_read(struct elf_file *file, struct memory *memory, uint64_t start);
void elf_file_close(struct elf_file *file); // takes a zeroed one

// The symbol's address as the file has it; 0 if there is none.
uint64_t elf_file_symbol(const struct elf_file *file, const char *name);

#endif
