// SPDX-License-Identifier: Apache-2.0
// Files read with pread. A mapping was rejected: a file that is cut while it is
// mapped raises SIGBUS in somebody's Python, and a copy of the packed bytes
// costs 0.4 ns an event.
#define _GNU_SOURCE
#include "load/file/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

static const char *name_file_type(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISFIFO(mode))
        return "a pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    return "a device";
}

static int fail_errno(const struct file_source *source, const char *verb, int error)
{
    int code = error == ENOENT || error == ENOTDIR ? GAIT_ERR_MISSING : GAIT_ERR_IO;

    return fail(code, "cannot %s '%s': %s", verb, source->path, strerror(error));
}

static void forget_in_pool(struct file_source *source)
{
    for (unsigned i = 0; source->pool && i < FILE_POOL_OPEN; i++)
        if (source->pool->open[i] == source)
            source->pool->open[i] = NULL;
}

static void leave_pool(struct file_source *source)
{
    forget_in_pool(source);
    if (source->descriptor >= 0)
        close(source->descriptor);
    source->descriptor = -1;
}

static void enter_pool(struct file_source *source)
{
    struct file_pool *pool = source->pool;
    struct file_source *evicted = pool ? pool->open[pool->next] : NULL;

    if (!pool)
        return;
    if (evicted)
        leave_pool(evicted);
    pool->open[pool->next] = source;
    pool->next = (pool->next + 1) % FILE_POOL_OPEN;
}

static int open_regular(struct file_source *source, struct stat *ret_about)
{
    // O_NONBLOCK: opening a pipe without a writer must not wait for one
    int descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;

    if (descriptor < 0)
        return fail_errno(source, "open", errno);
    if (fstat(descriptor, &about)) {
        int error = errno;

        close(descriptor);
        return fail_errno(source, "open", error);
    }
    if (!S_ISREG(about.st_mode)) {
        close(descriptor);
        return fail(GAIT_ERR_FORMAT, "'%s' is %s, not a gait file", source->path,
                    name_file_type(about.st_mode));
    }
    *ret_about = about;
    source->descriptor = descriptor;
    return 0;
}

int file_source_open(struct file_source *source, struct file_pool *pool, const char *path)
{
    struct stat about;

    *source = (struct file_source){.pool = pool, .path = path, .descriptor = -1};
    int status = open_regular(source, &about);
    if (status)
        return status;
    source->bytes = (uint64_t)about.st_size;
    source->device = about.st_dev;
    source->inode = about.st_ino;
    enter_pool(source);
    return 0;
}

void file_source_open_memory(struct file_source *source, const char *path, struct slice bytes)
{
    *source = (struct file_source){
        .path = path, .memory = bytes.bytes, .bytes = bytes.count, .descriptor = -1};
}

void file_source_close(struct file_source *source)
{
    if (!source)
        return;
    leave_pool(source);
    source->memory = NULL;
    source->bytes = 0;
}

void file_source_move(struct file_source *source, struct file_pool *pool)
{
    forget_in_pool(source);
    source->pool = pool;
    if (source->descriptor >= 0)
        enter_pool(source);
}

static int open_again(struct file_source *source)
{
    struct stat about;
    int status = open_regular(source, &about);

    if (status)
        return status;
    if (about.st_dev != source->device || about.st_ino != source->inode) {
        close(source->descriptor);
        source->descriptor = -1;
        return fail(GAIT_ERR_IO, "'%s' was replaced while it was being read", source->path);
    }
    enter_pool(source);
    return 0;
}

static int read_fully(struct file_source *source, uint64_t offset, uint8_t *out, size_t count)
{
    size_t done = 0;

    while (done < count) {
        ssize_t got = pread(source->descriptor, out + done, count - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(source, "read", errno);
        if (got == 0)
            return fail(GAIT_ERR_IO, "'%s' was cut while it was being read", source->path);
        done += (size_t)got;
    }
    return 0;
}

int file_source_read(struct file_source *source, uint64_t offset, void *ret_bytes, size_t count)
{
    if (offset > source->bytes || count > source->bytes - offset)
        return fail(GAIT_ERR_FORMAT, "a read goes past the end of '%s'", source->path);
    if (source->memory) {
        if (count)
            memcpy(ret_bytes, source->memory + offset, count);
        return 0;
    }
    if (source->descriptor < 0) {
        int status = open_again(source);
        if (status)
            return status;
    }
    return read_fully(source, offset, ret_bytes, count);
}
