// SPDX-License-Identifier: Apache-2.0
#include "launch/shared_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/ring_file.h"

const char *shared_memory_why_none(uint64_t *ret_free_bytes)
{
    struct statvfs room;
    if (statvfs(RING_FILE_SHARED_MEMORY, &room) || access(RING_FILE_SHARED_MEMORY, W_OK | X_OK))
        return strerror(errno);
    *ret_free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    return NULL;
}
