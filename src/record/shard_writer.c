// SPDX-License-Identifier: Apache-2.0
// Append-only output. Every write goes to a known offset, so that what a full
// disk cut off is written over by the next batch.
#define _GNU_SOURCE
#include "record/shard_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "format/weave.h"

#define BATCH_MAX_BYTES (64u << 20)
#define TEXT_MAX_BYTES (8u << 20)
#define NAME_TRIES 1000

static int make_directories(const char *directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", directory);
    for (char *slash = path + 1; *slash; slash++) {
        if (*slash != '/')
            continue;
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    if (mkdir(path, 0777) && errno != EEXIST)
        return fail(GAIT_ERR_IO, "cannot make run directory '%s': %s", directory, strerror(errno));
    return 0;
}

static int init_buffers(struct shard_writer *shard)
{
    buffer_init(&shard->batch, BATCH_MAX_BYTES);
    index_writer_init(&shard->index);
    return table_writer_init(&shard->tables, &shard->batch, WEAVE_MAX_SLOTS, TEXT_MAX_BYTES);
}

int shard_writer_open_path(struct shard_writer *shard, const char *path)
{
    memset(shard, 0, sizeof(*shard));
    snprintf(shard->path, sizeof(shard->path), "%s", path);
    shard->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (shard->fd < 0)
        return fail(GAIT_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
    int status = init_buffers(shard);
    if (status)
        shard_writer_finish(shard);
    return status;
}

int shard_writer_open(struct shard_writer *shard, const char *directory, int64_t start_ns)
{
    char host[65] = "", path[PATH_MAX];
    int status = make_directories(directory);
    if (status)
        return status;
    gethostname(host, sizeof(host) - 1);
    for (int try = 0; try < NAME_TRIES; try++) {
        snprintf(path, sizeof(path), "%.3800s/%s.%ld.%lld.gait", directory, host, (long)getpid(),
                 (long long)start_ns + try);
        status = shard_writer_open_path(shard, path);
        if (status == 0 || errno != EEXIST)
            return status;
    }
    return status;
}

static int write_all(int fd, const uint8_t *bytes, size_t count, uint64_t offset)
{
    while (count) {
        ssize_t written = pwrite(fd, bytes, count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fail(GAIT_ERR_IO, "%s", written ? strerror(errno) : "nothing was written");
        bytes += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return 0;
}

void shard_writer_discard(struct shard_writer *shard)
{
    shard->batch.used = 0;
    shard->tables.sequence = shard->batch_sequence;
}

int shard_writer_put(struct shard_writer *shard)
{
    struct slice batch = {shard->batch.bytes, shard->batch.used};
    if (batch.count == 0)
        return 0;
    int status = write_all(shard->fd, batch.bytes, batch.count, shard->bytes);
    if (status) {
        // half a frame would read as damage where there is only a gap
        if (ftruncate(shard->fd, (off_t)shard->bytes))
            fail_clear();
        shard_writer_discard(shard);
        return fail_because(status, "cannot write '%s'", shard->path);
    }
    shard->batch.used = 0;
    shard->batch_sequence = shard->tables.sequence;
    status = index_writer_add(&shard->index, batch, shard->bytes);
    shard->bytes += batch.count;
    return status;
}

int shard_writer_seal(struct shard_writer *shard)
{
    uint8_t trailer[FRAME_TRAILER_BYTES];
    int status = shard_writer_put(shard);
    if (status == 0)
        status = index_writer_write(&shard->index, &shard->tables);
    if (status == 0)
        status = shard_writer_put(shard);
    if (status)
        return status;
    const struct frame_trailer about = {shard->index.last_offset, shard->index.frame_count};
    frame_trailer_write(&about, trailer);
    status = write_all(shard->fd, trailer, sizeof(trailer), shard->bytes);
    if (status && ftruncate(shard->fd, (off_t)shard->bytes))
        fail_clear();
    return status;
}

void shard_writer_finish(struct shard_writer *shard)
{
    if (!shard)
        return;
    if (shard->fd >= 0)
        close(shard->fd);
    shard->fd = -1;
    table_writer_finish(&shard->tables);
    buffer_finish(&shard->batch);
    index_writer_finish(&shard->index);
}
