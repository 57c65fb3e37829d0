// SPDX-License-Identifier: Apache-2.0
// A name from a recording may be that of anything: only regular files are read.
#define _GNU_SOURCE
#include "cli/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

static int read_all(int fd, const char *path, struct buffer *out)
{
    enum { PART = 65536 };
    ssize_t got;
    do {
        uint8_t *room = buffer_reserve(out, PART);
        if (!room)
            return fail(GAIT_ERR_MEMORY, "'%s' is too long to be shown", path);
        got = read(fd, room, PART);
        if (got > 0)
            out->used += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 ? fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno)) : 0;
}

int source_text_read(const char *path, struct buffer *out)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    int status = fstat(fd, &about) == 0 && S_ISREG(about.st_mode)
                     ? read_all(fd, path, out)
                     : fail(GAIT_ERR_IO, "cannot read '%s': it is no file", path);
    close(fd);
    return status;
}
