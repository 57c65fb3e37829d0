// SPDX-License-Identifier: Apache-2.0
// Asks the disk: one access() a folder.
#define _GNU_SOURCE
#include "sample/short_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t short_path_start(const char *path, int64_t pid)
{
    char file[PATH_MAX + 64];
    size_t start = strlen(path);
    if (*path != '/')
        return 0;
    while (start > 0) {
        while (start > 0 && path[start - 1] != '/')
            start--;
        if (start <= 1)
            break;
        snprintf(file, sizeof file, "/proc/%lld/root%.*s/__init__.py", (long long)pid,
                 (int)(start - 1), path);
        if (access(file, F_OK) != 0) {
            snprintf(file, sizeof file, "%.*s/__init__.py", (int)(start - 1), path);
            if (access(file, F_OK) != 0)
                break;
        }
        start--;
    }
    return start;
}
