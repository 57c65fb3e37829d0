// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/output_name.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "format/frame.h"

int output_name_spare_recording(const char *path)
{
    uint8_t head[FRAME_HEADER_BYTES];
    struct frame_header header;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : 0;
    if (fd >= 0)
        close(fd);
    if (got < (ssize_t)sizeof head || frame_header_read(head, &header)) {
        fail_clear();
        return 0;
    }
    return fail(GAIT_ERR_STATE, "'%s' is already a recording; choose another name", path);
}

int output_name_spare_input(const char *path, const char *input)
{
    struct stat output, read;
    if (!input || stat(path, &output) || stat(input, &read) || !S_ISREG(output.st_mode) ||
        output.st_dev != read.st_dev || output.st_ino != read.st_ino)
        return 0;
    return fail(GAIT_ERR_ARGUMENT, "'%s' is the input file; choose another name", path);
}
