// SPDX-License-Identifier: Apache-2.0
#ifndef GAIT_BASE_FILE_NAME_H
#define GAIT_BASE_FILE_NAME_H

#include <string.h>

// What stands behind the last slash of a path, all of one without.
static inline const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
