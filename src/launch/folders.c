// SPDX-License-Identifier: Apache-2.0
// A folder that is there may be one that nobody may write to; so only what comes
// last is known to be missing.
#define _GNU_SOURCE
#include "launch/folders.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"

int folders_make_above(const char *path)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);
    if (length >= sizeof part)
        return fail(GAIT_ERR_IO, "the path '%s' is too long", path);
    for (size_t i = 1; i < length; i++) {
        if (path[i] != '/' || path[i - 1] == '/')
            continue;
        if (!path[i + strspn(path + i, "/")])
            break; // "a/b/" ends in b as "a/b" does
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) && errno != EEXIST && errno != EROFS && errno != EISDIR)
            return fail(GAIT_ERR_IO, "cannot make '%s': %s", part, strerror(errno));
    }
    return GAIT_OK;
}
