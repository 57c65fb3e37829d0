// SPDX-License-Identifier: Apache-2.0
#include "analyse/stacks/package_path.h"

#include <stddef.h>
#include <string.h>

// What is behind the last `folder`, NULL: it is not there.
static const char *behind_last(const char *path, const char *folder)
{
    const char *end = NULL;
    for (const char *at = path; (at = strstr(at, folder)); at++)
        end = at + strlen(folder);
    return end && *end ? end : NULL;
}

// Behind "/python3.11/", "/python3.14t/": Python's own modules. A program may lie in a
// folder of that name too, so it must be one of libraries.
static const char *behind_library(const char *path)
{
    static const char *const folders[] = {"/lib/python3.", "/lib64/python3."};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *version = behind_last(path, folders[i]);
        const size_t digits = version ? strspn(version, "0123456789") : 0;
        const char *end = digits ? version + digits + (version[digits] == 't') : "";
        if (end[0] == '/' && end[1])
            return end + 1;
    }
    return NULL;
}

const char *package_path(const char *path)
{
    const char *site = behind_last(path, "/site-packages/");
    const char *dist = behind_last(path, "/dist-packages/");
    const char *library = behind_library(path);
    const char *best = site > dist ? site : dist;
    if (!best)
        best = library;
    return best ? best : path;
}

// Native code is in objects; what Python calls "<frozen os>" is in no file.
bool package_path_is_users(const char *path)
{
    return *path && *path != '<' && !strstr(path, ".so") && strcmp(path, "built-in") != 0 &&
           package_path(path) == path;
}
