// SPDX-License-Identifier: Apache-2.0
// Which files of a directory end in a certain way, in order of name, numbers by their size.
#ifndef GAIT_LOAD_DIRECTORY_H
#define GAIT_LOAD_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#include <gait/error.h>

struct directory {
    const char **paths; // texts are in the arena
    size_t count, capacity;
    bool is_directory;
};

// Lists `path`/*`ending`, not those below. When `path` is no directory, that is
// no failure: is_directory says so.
GAIT_CHECK int directory_list(struct directory *directory, struct arena *arena, const char *path,
                              const char *ending);
void directory_finish(struct directory *directory); // takes NULL and a zeroed struct

#endif
