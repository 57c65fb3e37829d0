// SPDX-License-Identifier: Apache-2.0
// Addresses of a few symbols in an ELF file, stripped or not, found through its
// dynamic symbols; where those do not have them, through its full table. Every
// offset in the file is checked: it may be anything.
#ifndef GAIT_SAMPLE_ELF_SYMBOLS_H
#define GAIT_SAMPLE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct elf_file {
    const uint8_t *bytes;
    size_t count;
    uint64_t lowest; // address that the first byte of its image wants to have
};

// Maps the file behind `fd` (which may be closed then).
GAIT_CHECK int elf_file_open(struct elf_file *file, int fd);
void elf_file_close(struct elf_file *file); // takes a zeroed one

// The symbol's address as the file has it; 0 if there is none.
uint64_t elf_file_symbol(const struct elf_file *file, const char *name);

#endif
