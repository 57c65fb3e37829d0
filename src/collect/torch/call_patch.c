// SPDX-License-Identifier: Apache-2.0
// Only entries that hold a function's address are written, each with one store.
// A page that the loader sealed is opened for the store and sealed again; others
// are left as they are, since the loader may be binding calls there right now.
#define _GNU_SOURCE
#include "collect/torch/call_patch.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
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
    uintptr_t base, end;
    uintptr_t sealed_from, sealed_to;
    bool is_beside;
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

// Whole pages, as the loader seals them: what the last one holds of the sealed part
// stays writable, with all else that lies in it. Linkers differ in leaving none.
static void read_sealed(struct object *object, uintptr_t start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    object->sealed_from = start & ~(page - 1);
    object->sealed_to = (start + bytes) & ~(page - 1);
}

static bool read_object(const struct dl_phdr_info *info, struct object *object)
{
    *object = (struct object){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC)
            read_dynamic(object, (const void *)start);
        if (part->p_type == PT_GNU_RELRO)
            read_sealed(object, start, part->p_memsz);
        if (part->p_type == PT_LOAD && start + part->p_memsz > object->end)
            object->end = start + part->p_memsz;
    }
    return object->symbols && object->names;
}

static void add_place(struct call_patch *patch, const struct object *object, uintptr_t slot,
                      size_t which)
{
    if (patch->place_count == CALL_PATCH_PLACES)
        return;
    patch->places[patch->place_count++] = (struct call_patch_place){
        .slot = (void **)slot,
        .which = which,
        .is_sealed = slot >= object->sealed_from && slot < object->sealed_to,
        .stubs_from = object->base,
        .stubs = object->is_beside ? object->end - object->base : 0,
    };
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

// In the same folder as the library whose functions are turned.
static bool is_beside(const struct call_patch *patch, const char *path)
{
    const char *slash = patch->beside ? strrchr(patch->beside, '/') : NULL;
    const size_t bytes = slash ? (size_t)(slash + 1 - patch->beside) : 0;
    return !patch->beside ||
           (slash && strncmp(path, patch->beside, bytes) == 0 && strchr(path + bytes, '/') == NULL);
}

struct search {
    struct call_patch *patch;
    char *paths[CALL_PATCH_OBJECTS]; // of objects that have places
    size_t count;
};

static int visit(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct search *search = argument;
    struct call_patch *patch = search->patch;
    struct object object;
    (void)bytes;
    if (!is_wanted(patch, info->dlpi_name) || is_known(patch, info->dlpi_addr) ||
        patch->known_count == CALL_PATCH_OBJECTS || !read_object(info, &object))
        return 0;
    const size_t before = patch->place_count;
    object.is_beside = is_beside(patch, info->dlpi_name);
    patch->known[patch->known_count++] = info->dlpi_addr;
    look_through(patch, &object, 0);
    look_through(patch, &object, 1);
    if (patch->place_count > before)
        search->paths[search->count++] = strdup(info->dlpi_name);
    return 0;
}

// The loader's lock is ours while it goes through its list, so only after that. What
// is gone already leaves nothing that could be trusted.
static void keep_loaded(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        const char *path = search->paths[i];
        if (!path || !dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL))
            search->patch->place_count = search->patch->known_count = 0;
        free(search->paths[i]);
    }
}

static int count_loaded(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    (void)bytes;
    *(unsigned long long *)argument = info->dlpi_adds;
    return 1;
}

size_t call_patch_find(struct call_patch *patch)
{
    struct search search = {.patch = patch};
    unsigned long long loaded = 0;
    dl_iterate_phdr(count_loaded, &loaded);
    if (loaded != patch->objects_seen) {
        dl_iterate_phdr(visit, &search);
        keep_loaded(&search);
    }
    patch->objects_seen = loaded;
    return patch->place_count;
}

// --- turning --------------------------------------------------------------------------

static bool is_turnable(const struct call_patch_place *place, const void *held,
                        const struct call_patch_target *target)
{
    return held == target->original || (uintptr_t)held - place->stubs_from < place->stubs;
}

static bool put(const struct call_patch_place *place, void *address)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)place->slot & ~(page - 1));
    if (place->is_sealed && mprotect(start, page, PROT_READ | PROT_WRITE))
        return false;
    __atomic_store_n(place->slot, address, __ATOMIC_RELEASE);
    if (place->is_sealed)
        (void)mprotect(start, page, PROT_READ);
    return true;
}

static bool take(struct call_patch_place *place, const struct call_patch_target *target)
{
    void *held = __atomic_load_n(place->slot, __ATOMIC_RELAXED);
    if (place->before || !is_turnable(place, held, target))
        return true;
    if (!put(place, target->ours))
        return false;
    place->before = held;
    return true;
}

// What cannot be given back stays, and calls what was there all the same.
static void give_back(struct call_patch_place *place, const struct call_patch_target *target)
{
    const void *held = __atomic_load_n(place->slot, __ATOMIC_RELAXED);
    if (place->before && (held != target->ours || put(place, place->before)))
        place->before = NULL;
}

bool call_patch_turn(struct call_patch *patch, bool is_ours)
{
    bool is_done = true;
    for (size_t i = 0; is_ours && is_done && i < patch->place_count; i++) {
        is_done = take(&patch->places[i], &patch->targets[patch->places[i].which]);
    }
    for (size_t i = 0; !(is_ours && is_done) && i < patch->place_count; i++) {
        give_back(&patch->places[i], &patch->targets[patch->places[i].which]);
    }
    return is_done;
}
