// SPDX-License-Identifier: Apache-2.0
// Only entries that hold a function's address are written, each with one store.
// A page that the loader sealed is opened for the store and sealed again; others
// are left as they are, since the loader may be binding calls there right now.
#define _GNU_SOURCE
#include "collect/torch/call_patch.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#else
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#endif

struct object {
    uintptr_t base;
    uintptr_t sealed_from, sealed_to;
    const ElfW(Rela) * relocations[2];
    size_t counts[2];
    const ElfW(Sym) * symbols;
    const char *names;
};

// Addresses in the dynamic section are absolute in glibc, offsets elsewhere.
static uintptr_t address_of(const struct object *object, uintptr_t value)
{
    return value < object->base ? object->base + value : value;
}

static void read_dynamic(struct object *object, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        const uintptr_t address = address_of(object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_RELA)
            object->relocations[0] = (const void *)address;
        else if (entry->d_tag == DT_RELASZ)
            object->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
        else if (entry->d_tag == DT_JMPREL)
            object->relocations[1] = (const void *)address;
        else if (entry->d_tag == DT_PLTRELSZ)
            object->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
        else if (entry->d_tag == DT_SYMTAB)
            object->symbols = (const void *)address;
        else if (entry->d_tag == DT_STRTAB)
            object->names = (const void *)address;
    }
}

static bool read_object(const struct dl_phdr_info *info, struct object *object)
{
    *object = (struct object){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC)
            read_dynamic(object, (const void *)start);
        if (part->p_type == PT_GNU_RELRO) {
            object->sealed_from = start;
            object->sealed_to = start + part->p_memsz;
        }
    }
    return object->symbols && object->names;
}

static void add_place(struct call_patch *patch, const struct object *object, uintptr_t slot,
                      size_t which)
{
    if (patch->place_count == CALL_PATCH_PLACES)
        return;
    patch->places[patch->place_count++] = (struct call_patch_place){
        (void **)slot, which, slot >= object->sealed_from && slot < object->sealed_to};
}

static void look_through(struct call_patch *patch, const struct object *object, int part)
{
    for (size_t i = 0; i < object->counts[part] && object->relocations[part]; i++) {
        const ElfW(Rela) *entry = &object->relocations[part][i];
        const unsigned long type = ELF64_R_TYPE(entry->r_info);
        if (type != JUMP_SLOT && type != GLOB_DAT)
            continue;
        const char *name = object->names + object->symbols[ELF64_R_SYM(entry->r_info)].st_name;
        for (size_t t = 0; t < patch->target_count; t++) {
            if (patch->targets[t].original && strcmp(name, patch->targets[t].symbol) == 0)
                add_place(patch, object, object->base + entry->r_offset, t);
        }
    }
}

static bool is_wanted(const struct call_patch *patch, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash && patch->libraries[i]; i++) {
        if (strncmp(slash + 1, patch->libraries[i], strlen(patch->libraries[i])) == 0)
            return true;
    }
    return false;
}

// libtorch_cpu has a hundred thousand entries: a window that opens has no time for them
// only because an extension was imported meanwhile.
static bool is_known(const struct call_patch *patch, uintptr_t base)
{
    for (size_t i = 0; i < patch->known_count; i++) {
        if (patch->known[i] == base)
            return true;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct call_patch *patch = argument;
    struct object object;
    (void)bytes;
    if (!is_wanted(patch, info->dlpi_name) || is_known(patch, info->dlpi_addr) ||
        patch->known_count == CALL_PATCH_OBJECTS || !read_object(info, &object))
        return 0;
    patch->known[patch->known_count++] = info->dlpi_addr;
    look_through(patch, &object, 0);
    look_through(patch, &object, 1);
    return 0;
}

struct changes {
    unsigned long long loaded, unloaded;
};

static int count_changes(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    (void)bytes;
    *(struct changes *)argument = (struct changes){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

size_t call_patch_find(struct call_patch *patch)
{
    struct changes now = {0, 0};
    dl_iterate_phdr(count_changes, &now);
    if (now.unloaded != patch->objects_gone)
        patch->place_count = patch->known_count = 0;
    if (now.unloaded != patch->objects_gone || now.loaded != patch->objects_seen)
        dl_iterate_phdr(visit, patch);
    patch->objects_seen = now.loaded;
    patch->objects_gone = now.unloaded;
    return patch->place_count;
}

void call_patch_turn(struct call_patch *patch, bool is_ours)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < patch->place_count; i++) {
        const struct call_patch_place *place = &patch->places[i];
        const struct call_patch_target *target = &patch->targets[place->which];
        void *start = (void *)((uintptr_t)place->slot & ~(page - 1));
        if (place->is_sealed && mprotect(start, page, PROT_READ | PROT_WRITE))
            continue;
        __atomic_store_n(place->slot, is_ours ? target->ours : target->original, __ATOMIC_RELEASE);
        if (place->is_sealed)
            (void)mprotect(start, page, PROT_READ);
    }
}
