// SPDX-License-Identifier: Apache-2.0
// x86-64 files only. By hash where the file has one (a libpython has 2,000
// symbols, its hash leads to one in a few steps), else one after the other.
#define _GNU_SOURCE
#include "sample/remote/elf_symbols.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fail.h"

#define IMAGE_LIMIT (UINT64_C(256) << 20)
#define AT_ONCE (UINT64_C(1) << 20)
#define SYMBOL_LIMIT (1u << 21) // a file that is mostly a hole may be of any size

struct symbols {
    uint64_t table, texts, hash; // offsets in the file; 0: not there
    uint64_t count;              // 0: the hash tells
};

// `bytes` at that offset of the file, or NULL.
static const void *at_offset(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
    if (offset > file->count || bytes > file->count - offset)
        return NULL;
    return file->bytes + offset;
}

static const Elf64_Ehdr *header_of(const struct elf_file *file)
{
    return at_offset(file, 0, sizeof(Elf64_Ehdr));
}

static bool segment(const struct elf_file *file, unsigned index, Elf64_Phdr *ret_segment)
{
    const Elf64_Ehdr *header = header_of(file);
    if (index >= header->e_phnum || header->e_phentsize < sizeof(Elf64_Phdr) ||
        header->e_phoff > file->count)
        return false;
    const void *at = at_offset(file, header->e_phoff + (uint64_t)index * header->e_phentsize,
                               sizeof *ret_segment);
    if (at)
        memcpy(ret_segment, at, sizeof *ret_segment);
    return at;
}

// Where in the file the byte of that address lies, 0 if nowhere.
static uint64_t offset_of(const struct elf_file *file, uint64_t address)
{
    Elf64_Phdr part;
    for (unsigned i = 0; segment(file, i, &part); i++)
        if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
            address - part.p_vaddr < part.p_filesz)
            return address - part.p_vaddr + part.p_offset;
    return 0;
}

// A loader may have put addresses of its own in place of the file's.
static uint64_t offset_of_pointer(const struct elf_file *file, uint64_t pointer)
{
    const uint64_t offset = offset_of(file, pointer);
    return offset || !file->bias ? offset : offset_of(file, pointer - file->bias);
}

static struct symbols dynamic_symbols(const struct elf_file *file)
{
    struct symbols found = {0};
    Elf64_Phdr part;
    unsigned index = 0;
    while (segment(file, index, &part) && part.p_type != PT_DYNAMIC)
        index++;
    if (!segment(file, index, &part))
        return found;
    for (uint64_t i = 0; i < part.p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        const void *at = at_offset(file, part.p_offset + i * sizeof entry, sizeof entry);
        if (!at)
            break;
        memcpy(&entry, at, sizeof entry);
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            found.table = offset_of_pointer(file, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            found.texts = offset_of_pointer(file, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_GNU_HASH)
            found.hash = offset_of_pointer(file, entry.d_un.d_ptr);
    }
    return found;
}

static bool section(const struct elf_file *file, uint64_t index, Elf64_Shdr *ret_section)
{
    const Elf64_Ehdr *header = header_of(file);
    if (index >= header->e_shnum || header->e_shentsize < sizeof(Elf64_Shdr) ||
        header->e_shoff > file->count)
        return false;
    const void *at =
        at_offset(file, header->e_shoff + index * header->e_shentsize, sizeof *ret_section);
    if (at)
        memcpy(ret_section, at, sizeof *ret_section);
    return at;
}

static struct symbols section_symbols(const struct elf_file *file)
{
    Elf64_Shdr part, texts;
    for (uint64_t i = 0; section(file, i, &part); i++)
        if (part.sh_type == SHT_SYMTAB && section(file, part.sh_link, &texts))
            return (struct symbols){part.sh_offset, texts.sh_offset, 0,
                                    part.sh_size / sizeof(Elf64_Sym)};
    return (struct symbols){0};
}

static bool symbol_at(const struct elf_file *file, const struct symbols *symbols, uint64_t index,
                      Elf64_Sym *ret_symbol)
{
    const void *at =
        at_offset(file, symbols->table + index * sizeof *ret_symbol, sizeof *ret_symbol);
    if (at)
        memcpy(ret_symbol, at, sizeof *ret_symbol);
    return at;
}

static bool has_name(const struct elf_file *file, const struct symbols *symbols,
                     const Elf64_Sym *symbol, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    const void *text = at_offset(file, symbols->texts + symbol->st_name, bytes);
    return symbol->st_value && text && memcmp(text, name, bytes) == 0;
}

static uint64_t one_by_one(const struct elf_file *file, const struct symbols *symbols,
                           const char *name)
{
    Elf64_Sym symbol;
    const uint64_t count = symbols->count < SYMBOL_LIMIT ? symbols->count : SYMBOL_LIMIT;
    for (uint64_t i = 0; i < count && symbol_at(file, symbols, i, &symbol); i++)
        if (has_name(file, symbols, &symbol, name))
            return symbol.st_value;
    return 0;
}

static bool word_at(const struct elf_file *file, uint64_t offset, uint32_t *ret_word)
{
    const void *at = at_offset(file, offset, sizeof *ret_word);
    if (at)
        memcpy(ret_word, at, sizeof *ret_word);
    return at;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

// DT_GNU_HASH: header of four words, a Bloom filter, buckets, then a chain whose
// entries run beside the symbols from `skipped` on.
static uint64_t by_hash(const struct elf_file *file, const struct symbols *symbols,
                        const char *name)
{
    const uint32_t hash = gnu_hash(name);
    uint32_t buckets, skipped, blooms, index, link = 0;
    if (!word_at(file, symbols->hash, &buckets) || !word_at(file, symbols->hash + 4, &skipped) ||
        !word_at(file, symbols->hash + 8, &blooms) || buckets == 0)
        return 0;
    const uint64_t bucket_at = symbols->hash + 16 + (uint64_t)blooms * 8;
    const uint64_t chain_at = bucket_at + (uint64_t)buckets * 4;
    if (!word_at(file, bucket_at + (uint64_t)(hash % buckets) * 4, &index) || index < skipped)
        return 0;
    for (; !(link & 1) && index < SYMBOL_LIMIT; index++) {
        Elf64_Sym symbol;
        if (!word_at(file, chain_at + (uint64_t)(index - skipped) * 4, &link))
            return 0;
        if ((link | 1) == (hash | 1) && symbol_at(file, symbols, index, &symbol) &&
            has_name(file, symbols, &symbol, name))
            return symbol.st_value;
    }
    return 0;
}

uint64_t elf_file_symbol(const struct elf_file *file, const char *name)
{
    uint64_t address = 0;
    const struct symbols dynamic = dynamic_symbols(file);
    if (dynamic.table && dynamic.texts && dynamic.hash)
        address = by_hash(file, &dynamic, name);
    if (address)
        return address;
    const struct symbols all = section_symbols(file);
    return one_by_one(file, &all, name);
}

static int check_header(struct elf_file *file)
{
    const Elf64_Ehdr *header = header_of(file);
    Elf64_Phdr part;
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return fail(GAIT_ERR_FORMAT, "it is not a program");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
        return fail(GAIT_ERR_FORMAT, "it is not an x86-64 program; gait cannot sample others yet");
    file->lowest = UINT64_MAX;
    for (unsigned i = 0; segment(file, i, &part); i++)
        if (part.p_type == PT_LOAD && part.p_vaddr < file->lowest)
            file->lowest = part.p_vaddr & ~(uint64_t)(MEMORY_PAGE - 1);
    return file->lowest == UINT64_MAX ? fail(GAIT_ERR_FORMAT, "it has no segment to load") : 0;
}

int elf_file_open(struct elf_file *file, int fd)
{
    struct stat about;
    memset(file, 0, sizeof *file);
    if (fstat(fd, &about) || !S_ISREG(about.st_mode) || about.st_size < MEMORY_PAGE)
        return fail(GAIT_ERR_FORMAT, "it is not a program");
    void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return fail(GAIT_ERR_IO, "it cannot be mapped");
    file->bytes = bytes;
    file->count = (size_t)about.st_size;
    int status = check_header(file);
    if (status)
        elf_file_close(file);
    return status;
}

// Where the last byte of it lies that was loaded.
static uint64_t image_end(const struct elf_file *file)
{
    Elf64_Phdr part;
    uint64_t end = MEMORY_PAGE;
    for (unsigned i = 0; segment(file, i, &part); i++)
        if (part.p_type == PT_LOAD && part.p_offset < IMAGE_LIMIT && part.p_filesz < IMAGE_LIMIT &&
            part.p_offset + part.p_filesz > end)
            end = part.p_offset + part.p_filesz;
    return end;
}

// Code is left out, but for the part that the file begins with: older linkers put the
// symbols into one part with it. What cannot be read stays zero.
static void read_parts(const struct elf_file *head, struct memory *memory, uint8_t *out,
                       uint64_t bytes)
{
    Elf64_Phdr part;
    for (unsigned i = 0; segment(head, i, &part); i++) {
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X && part.p_offset) ||
            part.p_offset > bytes || part.p_filesz > bytes - part.p_offset)
            continue;
        for (uint64_t at = 0; at < part.p_filesz; at += AT_ONCE) {
            const uint64_t left = part.p_filesz - at;
            (void)memory_get_some(memory, head->bias + part.p_vaddr + at, out + part.p_offset + at,
                                  left < AT_ONCE ? left : AT_ONCE);
        }
    }
}

int elf_file_read(struct elf_file *file, struct memory *memory, uint64_t start)
{
    uint8_t first[MEMORY_PAGE];
    struct elf_file head = {.bytes = first, .count = sizeof first};
    memset(file, 0, sizeof *file);
    if (!memory_get(memory, start, first, sizeof first))
        return fail(GAIT_ERR_IO, "its memory cannot be read");
    int status = check_header(&head);
    if (status)
        return status;
    head.bias = start - head.lowest;
    const uint64_t bytes = image_end(&head);
    void *copy = bytes > IMAGE_LIMIT ? MAP_FAILED
                                     : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return fail(GAIT_ERR_MEMORY, "no memory for its symbols");
    read_parts(&head, memory, copy, bytes);
    memcpy(copy, first, sizeof first);
    memset((uint8_t *)copy + offsetof(Elf64_Ehdr, e_shnum), 0, sizeof(Elf64_Half));
    head.bytes = copy;
    head.count = bytes;
    *file = head;
    return 0;
}

void elf_file_close(struct elf_file *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->count);
    file->bytes = NULL;
}
