// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "export/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"

#define FLAGS (O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY)
#define TRIES 100

static int cannot(const char *path)
{
    return fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
}

static int open_in_place(struct output_file *file)
{
    struct stat about;
    file->fd = open(file->name, FLAGS | O_TRUNC, 0666);
    if (file->fd < 0)
        return cannot(file->name);
    file->is_regular_and_opened = fstat(file->fd, &about) == 0 && S_ISREG(about.st_mode);
    return GAIT_OK;
}

// A name beside the target that nobody has; of two on one disk, too.
static int make_part(struct output_file *file)
{
    struct timespec now;
    for (int i = 0; i < TRIES && file->fd < 0; i++) {
        free(file->part);
        clock_gettime(CLOCK_REALTIME, &now);
        unsigned long mix = (unsigned long)now.tv_nsec * 31 + (unsigned long)getpid();
        if (asprintf(&file->part, "%s.%lx.part", file->target, mix) < 0) {
            file->part = NULL;
            return fail(GAIT_ERR_MEMORY, "no memory for the name of '%s'", file->name);
        }
        file->fd = open(file->part, FLAGS | O_EXCL | O_NOFOLLOW, 0666);
        if (file->fd < 0 && errno != EEXIST)
            break;
    }
    return GAIT_OK;
}

static void forget_part(struct output_file *file)
{
    free(file->part);
    free(file->target);
    file->part = file->target = NULL;
}

// What a link leads to is replaced, not the link. NULL: only open() can tell.
static char *target_of(const char *path)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return errno == ENOENT ? strdup(path) : NULL;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || access(path, W_OK) != 0)
        return NULL;
    return realpath(path, NULL);
}

int output_file_open(struct output_file *file, const char *path)
{
    struct stat about;
    *file = (struct output_file){.fd = -1, .name = path, .target = target_of(path)};
    int status = file->target ? make_part(file) : GAIT_OK;
    if (status) {
        forget_part(file);
        return status;
    }
    if (file->fd < 0 || !file->target) {
        forget_part(file);
        return open_in_place(file);
    }
    if (stat(file->target, &about) == 0)
        (void)!fchmod(file->fd, about.st_mode & 07777);
    return GAIT_OK;
}

int output_file_keep(struct output_file *file)
{
    int status = GAIT_OK;
    // a network file system says here that there was no room
    if (close(file->fd) != 0 && errno != EINTR)
        status = cannot(file->name);
    file->fd = -1;
    if (!status && file->part && rename(file->part, file->target) != 0)
        status = cannot(file->name);
    if (status)
        output_file_drop(file);
    forget_part(file);
    return status;
}

void output_file_drop(struct output_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    if (file->part)
        unlink(file->part);
    else if (file->is_regular_and_opened)
        unlink(file->name);
    forget_part(file);
}
