// SPDX-License-Identifier: Apache-2.0
// Versions are told by names, of links what they lead to: no Python is started for it.
#define _GNU_SOURCE
#include "cli/io/doctor_pythons.h"

#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "launch/python_hook.h"

#define EXTENSION "_native.cpython-3"

enum { MOST_MINORS = 64 };

// 3.N of each, as bits, and of the one that a user gets who types no version; -1: not known.
struct pythons {
    uint64_t minors;
    int first;
};

static void put(struct pythons *pythons, const char *digits, const char *end, bool is_typed)
{
    char *behind;
    const long minor = strtol(digits, &behind, 10);
    if (behind == digits || strncmp(behind, end, strlen(end)) != 0 || minor < 0 ||
        minor >= MOST_MINORS)
        return;
    if (pythons->first < 0 && is_typed)
        pythons->first = (int)minor;
    pythons->minors |= UINT64_C(1) << minor;
}

// Of one folder of PATH. The name of a script in front of several Pythons tells nothing.
static void find_in(struct pythons *pythons, const char *folder, int bytes)
{
    static const char *const names[] = {"python", "python3", "python3.*[0-9]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char pattern[PATH_MAX], real[PATH_MAX];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%.*s/%s", bytes, folder, names[i]);
        if (glob(pattern, 0, NULL, &found))
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++) {
            const bool is_one =
                !access(found.gl_pathv[j], X_OK) && realpath(found.gl_pathv[j], real) != NULL;
            const char *name = is_one ? file_name_of(real) : "";
            if (!strncmp(name, "python3.", 8))
                put(pythons, name + 8, "", i < 2);
        }
        globfree(&found);
    }
}

static struct pythons find_in_path(void)
{
    struct pythons pythons = {.first = -1};
    for (const char *folder = getenv("PATH"); folder && *folder;) {
        const size_t bytes = strcspn(folder, ":");
        if (bytes && bytes < PATH_MAX / 2)
            find_in(&pythons, folder, (int)bytes);
        folder += bytes + (folder[bytes] == ':');
    }
    return pythons;
}

// Those that the package has an extension for.
static struct pythons find_extensions(const char *hook)
{
    struct pythons pythons = {.first = -1};
    char pattern[PATH_MAX + 64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/../" EXTENSION "*", hook);
    if (glob(pattern, 0, NULL, &found))
        return pythons;
    for (size_t i = 0; i < found.gl_pathc; i++)
        put(&pythons, file_name_of(found.gl_pathv[i]) + sizeof EXTENSION - 1, "-", false);
    globfree(&found);
    return pythons;
}

static const char *list(uint64_t minors, char *out, size_t room)
{
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < MOST_MINORS && used < room; i++)
        if (minors >> i & 1)
            used += (size_t)snprintf(out + used, room - used, "%s3.%d", used ? ", " : "", i);
    return out;
}

bool doctor_pythons(char *out, size_t room)
{
    char hook[PATH_MAX], fitting[100], others[100];
    if (python_hook_folder(hook)) {
        snprintf(out, room, "%s: only C programs are recorded", fail_text());
        fail_clear();
        return false;
    }
    const struct pythons own = find_extensions(hook), here = find_in_path();
    const uint64_t strange = here.minors & ~own.minors;
    snprintf(out, room, "gait's package is for Python %s%s%s%s",
             list(own.minors, fitting, sizeof fitting),
             strange       ? "; programs of "
             : here.minors ? ""
                           : "; none is in PATH",
             strange ? list(strange, others, sizeof others) : "",
             strange ? ", also in PATH, are sampled, but not recorded: install gait there, too"
                     : "");
    return here.first < 0 || own.minors >> here.first & 1;
}
