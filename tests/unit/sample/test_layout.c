// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sample/cpython/layout.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample/cpython/debug_offsets.h"
#include "sample/remote/elf_symbols.h"
#include "support/tap.h"

TEST("layout: there is a sound row for each version from 3.8 to 3.15, and no other")
{
    for (int minor = 8; minor <= 15; minor++) {
        const struct layout *row = layout_find(minor);
        if (ok(row))
            is_int(layout_check(row), 0);
    }
    ok(!layout_find(7));
    ok(!layout_find(16));
}

TEST("layout: offsets that lead anywhere are refused")
{
    struct layout row = *layout_find(12);
    row.frame_previous = -1;
    ok(layout_check(&row) < 0);
    row = *layout_find(12);
    row.interpreter_threads = 1 << 24;
    ok(layout_check(&row) < 0);
}

// A Python of 3.13 tells these itself: where they lie is copied out and looked into.
TEST("layout: no field may lie behind what is read of its struct")
{
    static const size_t fields[] = {
#define AT(field) offsetof(struct layout, field)
        AT(thread_next),       AT(thread_interpreter), AT(thread_frame),        AT(thread_ident),
        AT(thread_native),     AT(thread_chunk),       AT(frame_previous),      AT(frame_code),
        AT(frame_instruction), AT(frame_owner),        AT(frame_bytes),         AT(code_file),
        AT(code_name),         AT(code_qualified),     AT(code_lines),          AT(code_first_line),
        AT(code_bytes),        AT(object_type),        AT(text_state),          AT(text_count),
        AT(text_ascii),        AT(code_variables),     AT(code_variable_count), AT(code_flags),
#undef AT
    };
    static const int32_t far[] = {513, 4000, INT32_MAX, -2};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        for (size_t k = 0; k < sizeof far / sizeof far[0]; k++) {
            struct layout row = *layout_find(13);
            memcpy((uint8_t *)&row + fields[i], &far[k], sizeof far[k]);
            ok(layout_check(&row) < 0);
        }
}

TEST("debug_offsets: free-threaded, cut or senseless tables are refused")
{
    uint64_t table[DEBUG_OFFSETS_BYTES / 8] = {0}, version = 0;
    const uint8_t *bytes = (const uint8_t *)table;
    struct layout row = *layout_find(13);
    ok(!debug_offsets_version(bytes, sizeof table, &version));
    memcpy(table, "xdebugpy", 8);
    table[1] = 0x030d0000;
    ok(debug_offsets_version(bytes, sizeof table, &version));
    is_u64(version, 0x030d0000);
    ok(!debug_offsets_version(bytes, 20, &version));
    ok(debug_offsets_apply(bytes, 100, &row) < 0);
    table[2] = 1;
    ok(debug_offsets_apply(bytes, sizeof table, &row) < 0);
    table[2] = 0;
    table[5] = UINT64_MAX;
    ok(debug_offsets_apply(bytes, sizeof table, &row) < 0);
    is_int(memcmp(&row, layout_find(13), sizeof row), 0);
}

TEST("elf_symbols: what is in memory alone is found where the loader put it")
{
    static const uint8_t no_program[8192];
    void *const wanted = dlsym(RTLD_DEFAULT, "getppid");
    Dl_info about = {NULL, NULL, NULL, NULL};
    struct elf_file file;
    struct memory memory;
    memory_init(&memory, getpid());
    if (!ok(wanted && dladdr(wanted, &about) != 0))
        return;
    const uint64_t start = (uintptr_t)about.dli_fbase;
    if (!ok(elf_file_read(&file, &memory, start) == 0))
        return;
    is_u64(start - file.lowest + elf_file_symbol(&file, "getppid"), (uintptr_t)wanted);
    ok(elf_file_symbol(&file, "no_such_symbol_anywhere") == 0);
    elf_file_close(&file);
    ok(elf_file_read(&file, &memory, (uintptr_t)no_program) < 0);
    ok(elf_file_read(&file, &memory, 4096) < 0);
}

// A program that is mostly a hole: of a table of symbols that never ends, one has a name.
static uint64_t address_of_symbol(uint64_t index)
{
    const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                               .e_machine = EM_X86_64,
                               .e_phoff = 256,
                               .e_phnum = 1,
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_shoff = 512,
                               .e_shnum = 2,
                               .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr part = {.p_type = PT_LOAD};
    const Elf64_Shdr sections[2] = {
        {.sh_type = SHT_SYMTAB, .sh_link = 1, .sh_offset = 4096, .sh_size = UINT64_MAX / 2},
        {.sh_type = SHT_STRTAB, .sh_offset = 1024}};
    const Elf64_Sym symbol = {.st_value = 4711};
    struct elf_file file;
    uint64_t found = 0;
    const int fd = memfd_create("elf", 0);
    ok(pwrite(fd, &header, sizeof header, 0) == sizeof header);
    ok(pwrite(fd, &part, sizeof part, 256) == sizeof part);
    ok(pwrite(fd, sections, sizeof sections, 512) == sizeof sections);
    ok(pwrite(fd, "wanted", 7, 1024) == 7);
    ok(pwrite(fd, &symbol, sizeof symbol, (off_t)(4096 + index * sizeof symbol)) == sizeof symbol);
    if (ok(elf_file_open(&file, fd) == 0))
        found = elf_file_symbol(&file, "wanted");
    elf_file_close(&file);
    close(fd);
    return found;
}

TEST("elf_symbols: a table that never ends is looked through no further than any real one")
{
    is_u64(address_of_symbol(1), 4711);
    is_u64(address_of_symbol(200000), 4711);
    is_u64(address_of_symbol(3000000), 0);
}

static uint64_t image_start;

// The first part of the image may be run, as of a linker that keeps code with the rest.
static ssize_t read_as_one_part(struct memory *memory, void *out, size_t bytes,
                                const struct iovec *pieces, size_t count)
{
    const struct iovec local = {out, bytes};
    const ssize_t got = process_vm_readv((pid_t)memory->pid, &local, 1, pieces, count, 0);
    const Elf64_Ehdr *header = out;
    if (got < 4096 || (uintptr_t)pieces[0].iov_base != image_start)
        return got;
    Elf64_Phdr *part = (Elf64_Phdr *)((uint8_t *)out + header->e_phoff);
    while (part->p_type != PT_LOAD)
        part++;
    part->p_flags |= PF_X;
    return got;
}

TEST("elf_symbols: what is in memory alone is found beside code, too")
{
    void *const wanted = dlsym(RTLD_DEFAULT, "getppid");
    Dl_info about = {NULL, NULL, NULL, NULL};
    struct elf_file file;
    struct memory memory;
    memory_init(&memory, getpid());
    memory.read = read_as_one_part;
    if (!ok(wanted && dladdr(wanted, &about) != 0))
        return;
    image_start = (uintptr_t)about.dli_fbase;
    if (!ok(elf_file_read(&file, &memory, image_start) == 0))
        return;
    is_u64(image_start - file.lowest + elf_file_symbol(&file, "getppid"), (uintptr_t)wanted);
    elf_file_close(&file);
}

TEST("elf_symbols: this program's own are found, and bytes at random end nowhere bad")
{
    struct elf_file file;
    int fd = open("/proc/self/exe", O_RDONLY);
    if (!ok(elf_file_open(&file, fd) == 0))
        return;
    ok(elf_file_symbol(&file, "main") != 0);
    ok(elf_file_symbol(&file, "no_such_symbol_anywhere") == 0);
    elf_file_close(&file);
    static uint8_t bytes[16384];
    ok(pread(fd, bytes, sizeof bytes, 0) == sizeof bytes);
    close(fd);
    uint64_t seed = 42;
    for (int round = 0; round < 300; round++) {
        fd = memfd_create("elf", 0);
        for (int i = 0; i < 24; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            bytes[(seed >> 33) % (round % 2 ? 1024 : sizeof bytes)] ^= (uint8_t)(seed >> 56);
        }
        memcpy(bytes, "\177ELF\2\1\1", 7);
        ok(write(fd, bytes, sizeof bytes) == sizeof bytes);
        if (elf_file_open(&file, fd) == 0) {
            elf_file_symbol(&file, "_PyRuntime");
            elf_file_close(&file);
        }
        close(fd);
    }
}
