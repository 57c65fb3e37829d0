// SPDX-License-Identifier: Apache-2.0
// A folder that is there may be one that nobody may write to; so only what comes
// last is known to be missing.
#define _GNU_SOURCE
#include "shard/folders.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"

static int make_above(const char *path, unsigned mode)
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
        if (mkdir(part, mode) && errno != EEXIST && errno != EROFS && errno != EISDIR)
            return fail(GAIT_ERR_IO, "cannot make '%s': %s", part, strerror(errno));
    }
    return GAIT_OK;
}

int folders_make_above(const char *path)
{
    return make_above(path, 0777);
}

int folders_make(const char *path, unsigned mode)
{
    const int status = make_above(path, mode);
    if (!status && mkdir(path, mode) && errno != EEXIST)
        return fail(GAIT_ERR_IO, "cannot make '%s': %s", path, strerror(errno));
    return status;
}
