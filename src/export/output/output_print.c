// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "export/output/output_print.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "export/output/output_file.h"

static int cannot(const char *name)
{
    return fail(GAIT_ERR_IO, "cannot write '%s': %s", name, strerror(errno));
}

// The stream has a descriptor of its own, which it closes.
static int print_stream(const struct output_file *file, output_printer *print, void *context)
{
    const int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!out) {
        int status = cannot(file->name);
        if (copy >= 0)
            close(copy);
        return status;
    }
    int status = print(out, context);
    const bool is_bad = ferror(out) != 0;
    if ((fclose(out) != 0 || is_bad) && !status)
        status = cannot(file->name);
    return status;
}

int output_print(const char *path, output_printer *print, void *context)
{
    struct output_file file;
    int status = output_file_open(&file, path);
    if (status)
        return status;
    status = print_stream(&file, print, context);
    if (!status)
        return output_file_keep(&file);
    output_file_drop(&file);
    return status;
}
