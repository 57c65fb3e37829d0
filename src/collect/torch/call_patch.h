// SPDX-License-Identifier: Apache-2.0
// Calls of one library's functions turned to ours: the address tables of loaded
// objects that name a function are found once, then written when wanted and
// written back after. Callers serialise.
#ifndef GAIT_COLLECT_CALL_PATCH_H
#define GAIT_COLLECT_CALL_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_PATCH_PLACES 64
#define CALL_PATCH_OBJECTS 32

struct call_patch_place {
    void **slot;
    size_t which;   // of the targets
    bool is_sealed; // the loader made the page read-only
};

struct call_patch_target {
    const char *symbol;
    void *original, *ours; // original NULL: none of these
};

struct call_patch {
    const struct call_patch_target *targets;
    size_t target_count;
    const char *const *libraries; // beginnings of file names, NULL at the end
    struct call_patch_place places[CALL_PATCH_PLACES];
    size_t place_count;
    unsigned long long objects_seen, objects_gone; // so far, when the places were found
    uintptr_t known[CALL_PATCH_OBJECTS];           // where those lie that were looked through
    size_t known_count;
};

// Looks through what was loaded since, and at all again if something was unloaded;
// how many places there are.
size_t call_patch_find(struct call_patch *patch);

void call_patch_turn(struct call_patch *patch, bool is_ours);

#endif
