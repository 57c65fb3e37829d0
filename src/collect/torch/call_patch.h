// SPDX-License-Identifier: Apache-2.0
// Calls of one library's functions turned to ours: the address tables of loaded
// objects that name a function are found once, then written when wanted and
// written back after. An entry that holds something else than that function (a
// second copy of the library has its own, another tool may have put its own there)
// is left alone, as is one that was written over meanwhile. Callers serialise.
#ifndef GAIT_COLLECT_CALL_PATCH_H
#define GAIT_COLLECT_CALL_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_PATCH_PLACES 64
#define CALL_PATCH_OBJECTS 32

struct call_patch_place {
    void **slot;
    size_t which;                // of the targets
    bool is_sealed;              // the loader made the page read-only
    uintptr_t stubs_from, stubs; // where a call that is not bound yet goes, and how many bytes
    void *before;                // what it held; NULL while it is not ours
};

struct call_patch_target {
    const char *symbol;
    void *original, *ours; // original NULL: none of these
};

struct call_patch {
    const struct call_patch_target *targets;
    size_t target_count;
    const char *const *libraries; // beginnings of file names, NULL at the end
    const char *beside;           // a library of that copy: others are elsewhere; or NULL
    struct call_patch_place places[CALL_PATCH_PLACES];
    size_t place_count;
    unsigned long long objects_seen;     // so far, when the places were found
    uintptr_t known[CALL_PATCH_OBJECTS]; // where those lie that were looked through
    size_t known_count;
};

// Looks through what was loaded since; how many places there are. What has some
// stays loaded for good: there is no safe moment to write into what may be gone.
size_t call_patch_find(struct call_patch *patch);

// False, and none is ours, where a page could not be opened.
bool call_patch_turn(struct call_patch *patch, bool is_ours);

#endif
