// SPDX-License-Identifier: Apache-2.0
// A file in memory, for readers that want a path.
#ifndef GAIT_MEMORY_FILE_H
#define GAIT_MEMORY_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/slice.h"

struct memory_file {
    int fd;
    char path[32];
};

static inline void memory_file_open(struct memory_file *file, struct slice bytes)
{
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (file->fd < 0 || write(file->fd, bytes.bytes, bytes.count) != (ssize_t)bytes.count)
        abort();
    (void)snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
}

static inline void memory_file_close(const struct memory_file *file)
{
    close(file->fd);
}

#endif
