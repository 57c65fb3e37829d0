// SPDX-License-Identifier: Apache-2.0
#ifndef GAIT_BASE_FILE_NAME_H
#define GAIT_BASE_FILE_NAME_H

#include <stdio.h>
#include <string.h>

#include "base/fail.h"

// What stands behind the last slash of a path, all of one without.
static inline const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The path of what has that name in a folder.
GAIT_CHECK static inline int file_name_join(char *out, size_t room, const char *folder,
                                            const char *name)
{
    const int length = snprintf(out, room, "%s/%s", folder, name);
    return length >= 0 && (size_t)length < room
               ? GAIT_OK
               : fail(GAIT_ERR_IO, "the path '%s/%s' is too long", folder, name);
}

#endif
