// SPDX-License-Identifier: Apache-2.0
// The package lies where the build or the installation put it, as seen from the
// tool itself: nothing is asked of a Python, which would cost 20 ms.
#define _GNU_SOURCE
#include "launch/python_hook.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_name.h"

#define HOOK "preload"

// Beside the tool's folder: the build's, a virtual environment's, the system's, a plain one.
static const char *const places[] = {
    "/python/gait/" HOOK,
    "/../lib/python3*/site-packages/gait/" HOOK,
    "/../lib64/python3*/site-packages/gait/" HOOK,
    "/../lib/python3*/dist-packages/gait/" HOOK,
    "/../local/lib/python3*/dist-packages/gait/" HOOK,
    "/../gait/" HOOK, // pip install --target
};

static int tool_folder(char *out, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", out, room - 1);
    if (length <= 0)
        return fail(GAIT_ERR_IO, "cannot find the folder of the gait program: %s", strerror(errno));
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return GAIT_OK;
}

// The first match of the pattern that holds the hook, as a path without links.
static bool find_match(const char *pattern, char out[PATH_MAX])
{
    glob_t matches;
    bool found = false;
    if (glob(pattern, 0, NULL, &matches) == 0) {
        found = matches.gl_pathc > 0 && realpath(matches.gl_pathv[0], out) != NULL;
        globfree(&matches);
    }
    return found;
}

int python_hook_folder(char out[PATH_MAX])
{
    char tool[PATH_MAX], pattern[2 * PATH_MAX];
    const char *named = getenv("GAIT_PACKAGE"); // `python -m gait` knows its own
    if (named && *named) {
        snprintf(pattern, sizeof pattern, "%s/" HOOK, named);
        if (find_match(pattern, out))
            return GAIT_OK;
    }
    int status = tool_folder(tool, sizeof tool);
    for (size_t i = 0; !status && i < sizeof places / sizeof places[0]; i++) {
        snprintf(pattern, sizeof pattern, "%s%s", tool, places[i]);
        if (find_match(pattern, out))
            return GAIT_OK;
    }
    return status ? status
                  : fail(GAIT_ERR_MISSING, "gait's Python package is not beside the gait program");
}

int python_hook_set(void)
{
    char folder[PATH_MAX];
    int status = python_hook_folder(folder);
    unsetenv("GAIT_PACKAGE");
    if (status)
        return status;
    const char *before = getenv("PYTHONPATH");
    size_t length = strlen(folder);
    bool has_before = before && *before;
    // a run inside a run has it already
    if (has_before && !strncmp(before, folder, length) &&
        (before[length] == ':' || !before[length]))
        return GAIT_OK;
    size_t room = length + (has_before ? strlen(before) + 2 : 1);
    char *path = malloc(room);
    if (!path)
        return fail(GAIT_ERR_MEMORY, "no memory for PYTHONPATH");
    snprintf(path, room, "%s%s%s", folder, has_before ? ":" : "", has_before ? before : "");
    status = setenv("PYTHONPATH", path, 1);
    free(path);
    return status ? fail(GAIT_ERR_IO, "cannot set PYTHONPATH: %s", strerror(errno)) : GAIT_OK;
}

static bool is_python(const char *program)
{
    return !strncmp(file_name_of(program), "python", 6);
}

// Letters of options that may stand together: `-Iu`.
static const char *blocking_letter(const char *option)
{
    static const char *const names[] = {"-I", "-E", "-S"};
    for (size_t i = 0; option[0] == '-' && option[1] != '-' && i < 3; i++) {
        size_t plain = strcspn(option, "cmWX"); // what follows these is theirs
        const char *found = strchr(option, names[i][1]);
        if (found && (size_t)(found - option) < plain)
            return names[i];
    }
    return NULL;
}

const char *python_hook_obstacle(char *const *arguments)
{
    if (!arguments[0] || !is_python(arguments[0]))
        return NULL;
    for (int i = 1; arguments[i] && arguments[i][0] == '-'; i++) {
        const char *option = blocking_letter(arguments[i]);
        if (option)
            return option;
        if (strpbrk(arguments[i], "cm"))
            return NULL; // what runs begins here
        if (!strcmp(arguments[i], "-W") || !strcmp(arguments[i], "-X"))
            i += arguments[i + 1] != NULL;
    }
    return NULL;
}
