// SPDX-License-Identifier: Apache-2.0
// A name from a recording may be that of anything: only regular files are read.
#define _GNU_SOURCE
#include "cli/io/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

static int read_all(int fd, const char *path, struct buffer *out)
{
    enum { PART = 65536 };
    const size_t before = out->used;
    int status = 0;
    ssize_t got = 1;
    while (status == 0 && got) {
        uint8_t *room = buffer_reserve(out, PART);
        got = room ? read(fd, room, PART) : 0;
        if (!room)
            status = fail(GAIT_ERR_MEMORY, "'%s' is too long to be shown", path);
        else if (got > 0)
            out->used += (size_t)got;
        else if (got < 0 && errno != EINTR)
            status = fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    if (status)
        out->used = before;
    return status;
}

int source_text_read(const char *path, struct buffer *out)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    int status = fstat(fd, &about) == 0 && S_ISREG(about.st_mode)
                     ? read_all(fd, path, out)
                     : fail(GAIT_ERR_IO, "cannot read '%s': it is not a file", path);
    close(fd);
    return status;
}
