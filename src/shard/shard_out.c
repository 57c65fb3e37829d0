// SPDX-License-Identifier: Apache-2.0
// Append-only output. Every write goes to a known offset, so that what a full
// disk cut off is written over by the next batch.
#define _GNU_SOURCE
#include "shard/shard_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "format/span_builder.h"
#include "shard/folders.h"

#define BATCH_MAX_BYTES (64u << 20)
#define TEXT_MAX_BYTES (8u << 20)
#define MEMORY_MAX_BYTES ((size_t)1 << 30)
#define SETTLE_BYTES (1u << 20)
#define NAME_TRIES 1000
#define RESERVE_BYTES (16u << 10) // and never more than a quarter of the limit

static int init_buffers(struct shard_out *shard, size_t rows, size_t text_bytes)
{
    buffer_init(&shard->batch, BATCH_MAX_BYTES);
    index_writer_init(&shard->index);
    return table_writer_init(&shard->tables, &shard->batch, rows, text_bytes);
}

// All that any frame needs, at once: what records never asks for memory again.
static int init_to_record(struct shard_out *shard)
{
    return init_buffers(shard, SPAN_BUILDER_MAX_SLOTS, TEXT_MAX_BYTES);
}

static int init_to_grow(struct shard_out *shard)
{
    return init_buffers(shard, 0, 0);
}

static void init(struct shard_out *shard, const char *path)
{
    memset(shard, 0, sizeof(*shard));
    snprintf(shard->path, sizeof(shard->path), "%s", path);
    shard->has_index = true;
    shard->file.fd = -1;
}

int shard_out_open_end(struct shard_out *shard, int fd, const char *path, uint64_t bytes)
{
    init(shard, path);
    shard->bytes = bytes;
    shard->is_ending = shard->has_tail = true; // also where this fails: nothing was cut off
    const int error = os_file_share(&shard->file, fd);
    if (error)
        return fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(error));
    return init_to_grow(shard);
}

int shard_out_open_memory(struct shard_out *shard)
{
    init(shard, "memory");
    shard->is_in_memory = true;
    buffer_init(&shard->memory, MEMORY_MAX_BYTES);
    return init_to_grow(shard);
}

int shard_out_open_path(struct shard_out *shard, const char *path)
{
    init(shard, path);
    int error = os_file_open(&shard->file, path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (error) {
        shard->file.fd = -1;
        return fail(error == EEXIST ? GAIT_ERR_STATE : GAIT_ERR_IO, "cannot create '%s': %s", path,
                    strerror(error));
    }
    int status = init_to_record(shard);
    if (status)
        shard_out_remove(shard);
    return status;
}

void shard_out_name(char *out, size_t room, int64_t rank, int64_t pid)
{
    char host[65] = "", place[32] = "";
    gethostname(host, sizeof(host) - 1);
    for (char *slash = host; (slash = strchr(slash, '/'));) {
        *slash = '_';
    }
    if (rank >= 0)
        snprintf(place, sizeof(place), ".rank%lld", (long long)rank);
    snprintf(out, room, "%s%s.%lld", host, place, (long long)pid);
}

int shard_out_open(struct shard_out *shard, const char *directory, int64_t rank, int64_t start_ns)
{
    char name[160], path[PATH_MAX];
    int status = folders_make(directory, 0777);
    if (status)
        return status;
    shard_out_name(name, sizeof(name), rank, getpid());
    for (int try = 0; try < NAME_TRIES; try++) {
        snprintf(path, sizeof(path), "%.3800s/%s.%lld.gait", directory, name,
                 (long long)start_ns + try);
        status = shard_out_open_path(shard, path);
        if (status != GAIT_ERR_STATE)
            return status;
    }
    return status;
}

static bool is_same(const struct os_file *a, const struct stat *b)
{
    return a->device == b->st_dev && a->inode == b->st_ino;
}

// The program may have closed our descriptor together with its own, and some
// file systems number their files anew: the path decides.
static int find_file(struct shard_out *shard)
{
    struct os_file again;
    struct stat open_now;
    if (os_file_is_ours(&shard->file))
        return 0;
    int error = os_file_open(&again, shard->path, O_WRONLY, 0);
    if (error)
        return error;
    // a number that was closed is the first to be given out again
    bool is_open = again.fd != shard->file.fd && fstat(shard->file.fd, &open_now) == 0 &&
                   is_same(&again, &open_now);
    bool is_it = again.device == shard->file.device && again.inode == shard->file.inode;
    if (is_open)
        close(shard->file.fd);
    if (is_open || is_it) {
        shard->file = again;
        return 0;
    }
    os_file_close(&again);
    return ENOENT;
}

// At the end of the file: all of it, or the file is as long as before. Half a
// frame would read as damage where there is only a gap.
static int append(struct shard_out *shard, const void *bytes, size_t count)
{
    GAIT_ASSERT(!shard->is_in_memory || shard->bytes == shard->memory.used);
    if (shard->is_in_memory)
        return buffer_append(&shard->memory, bytes, count);
    int error = find_file(shard);
    if (error)
        return fail(GAIT_ERR_IO, "'%s' is gone: %s", shard->path, strerror(error));
    if (shard->has_tail && ftruncate(shard->file.fd, (off_t)shard->bytes))
        return fail(GAIT_ERR_IO, "cannot cut '%s': %s", shard->path, strerror(errno));
    shard->has_tail = false;
    error = os_file_write(&shard->file, bytes, count, shard->bytes);
    if (!error)
        return 0;
    if (ftruncate(shard->file.fd, (off_t)shard->bytes))
        return fail(GAIT_ERR_IO, "cannot write and cut '%s': %s", shard->path, strerror(error));
    return fail(GAIT_ERR_IO, "cannot write '%s': %s", shard->path, strerror(error));
}

void shard_out_discard(struct shard_out *shard)
{
    shard->batch.used = 0;
    shard->tables.sequence = shard->batch_sequence;
}

// Under a limit to the file's size, what was lost must still find room at the
// end: else nobody could tell how much it was.
static bool is_beyond_limit(const struct shard_out *shard, size_t count)
{
    const uint64_t limit = os_file_size_limit();
    const uint64_t reserve = limit / 4 < RESERVE_BYTES ? limit / 4 : RESERVE_BYTES;
    return !shard->is_ending && shard->bytes + count > limit - reserve;
}

int shard_out_put(struct shard_out *shard)
{
    struct slice batch = {shard->batch.bytes, shard->batch.used};
    if (batch.count == 0)
        return 0;
    GAIT_ASSERT(shard->tables.sequence > shard->batch_sequence); // a batch has frames
    int status = is_beyond_limit(shard, batch.count)
                     ? fail(GAIT_ERR_IO, "'%s' may not grow any more", shard->path)
                     : append(shard, batch.bytes, batch.count);
    if (status && !shard->keeps_batch)
        shard_out_discard(shard);
    if (status)
        return status;
    shard->batch.used = 0;
    shard->batch_sequence = shard->tables.sequence;
    if (index_writer_add(&shard->index, batch, shard->bytes)) {
        fail_clear();
        shard->has_index = false;
    }
    shard->bytes += batch.count;
    return 0;
}

int shard_out_settle(struct shard_out *shard)
{
    int status = shard->batch.used < SETTLE_BYTES ? GAIT_OK : shard_out_put(shard);
    if (!status && index_writer_is_due(&shard->index))
        status = index_writer_write(&shard->index, &shard->tables);
    return status;
}

int shard_out_seal(struct shard_out *shard)
{
    uint8_t trailer[FRAME_TRAILER_BYTES];
    int status = shard_out_put(shard);
    if (status == 0)
        status = index_writer_write(&shard->index, &shard->tables);
    if (status == 0)
        status = shard_out_put(shard);
    if (status)
        return status;
    if (!shard->has_index)
        return fail(GAIT_ERR_MEMORY, "no memory for the index of '%s'", shard->path);
    GAIT_ASSERT(shard->index.last_offset < shard->bytes);
    const struct frame_trailer about = {shard->index.last_offset, shard->index.frame_count};
    frame_trailer_write(&about, trailer);
    return append(shard, trailer, sizeof(trailer));
}

void shard_out_finish(struct shard_out *shard)
{
    if (!shard)
        return;
    os_file_close(&shard->file);
    table_writer_finish(&shard->tables);
    buffer_finish(&shard->batch);
    index_writer_finish(&shard->index);
    buffer_finish(&shard->memory);
}

void shard_out_remove(struct shard_out *shard)
{
    // by its own name only: the file may have been moved and another put there
    if (find_file(shard) == 0)
        unlink(shard->path);
    shard_out_finish(shard);
}

void shard_out_abandon(struct shard_out *shard)
{
    os_file_close(&shard->file);
}
