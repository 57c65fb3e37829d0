// SPDX-License-Identifier: Apache-2.0
// Makes the shard of a dead process whole, in place. What stands behind the
// last commits is cut off first: all of it is in the ring file, which goes only
// after the trailer is written. Dying in between leaves what was there before,
// an unfinished shard with its ring file.
#define _GNU_SOURCE
#include "load/repair/complete.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "format/journal.h"
#include "load/file/directory.h"
#include "load/repair/salvage.h"
#include "load/run.h"
#include "shard/shard_out.h"
#include "vocabulary/metadata.h"

#define FRAME_LIMIT (FRAME_MAX_PAYLOAD + 2 * FRAME_HEADER_BYTES)
#define ARENA_LIMIT ((size_t)64 << 20)

struct completion {
    struct run run; // this one shard
    struct shard *shard;
    const char *path;
    const char *ring;
    int descriptor;
    struct shard_out output;
    bool is_held; // write nothing for now
    struct buffer payload;
};

static int fail_errno(const struct completion *completion, const char *verb)
{
    return fail(GAIT_ERR_IO, "cannot %s '%s': %s", verb, completion->path, strerror(errno));
}

// --- writing -------------------------------------------------------------------

// Copies a frame under the next sequence number.
static int put_frame(struct completion *completion, size_t frame)
{
    struct table_view view;
    int status = shard_read(completion->shard, frame, &completion->payload, &view);

    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    size_t count = FRAME_HEADER_BYTES + (size_t)view.header.stored_bytes;
    view.header.sequence = completion->output.tables.sequence++;
    frame_header_write(&view.header, completion->payload.bytes);
    uint8_t *bytes = buffer_reserve(&completion->output.batch, count);
    if (!bytes)
        return fail(GAIT_ERR_MEMORY, "no memory for a frame of %zu bytes", count);
    memcpy(bytes, completion->payload.bytes, count);
    completion->output.batch.used += count;
    return completion->is_held ? GAIT_OK : shard_out_settle(&completion->output);
}

static int put_exit(struct completion *completion, const struct complete_exit *how)
{
    struct journal_row row = {.table = TABLE_META, .text_count = 2};

    // of another process nothing is known but that it closed nothing
    bool is_known = how && how->pid == completion->run.shards[0]->info.pid;
    row.texts[0] = slice_of(meta.exit);
    row.texts[1] = slice_of(is_known ? how->json : "{\"unclosed\": true}");
    int status = journal_write_row(&row, &completion->output.tables);
    return status ? status : shard_out_settle(&completion->output);
}

// --- what stays ----------------------------------------------------------------

// The frame from which on the file is written anew: the first one whose rows
// the ring file replaces.
static size_t find_cut(const struct frame_list *list)
{
    size_t cut = 0;

    while (cut < list->count &&
           !(list->entries[cut].flags & (FRAME_IS_REPLACED | FRAME_IS_SALVAGED)))
        cut++;
    return cut;
}

// Tells the index of a frame that stays where it is.
static int note_kept(struct completion *completion, const struct frame_entry *entry)
{
    struct frame_header header = {.version = FRAME_VERSION,
                                  .table = entry->table,
                                  .rows = entry->rows,
                                  .stored_bytes = entry->stored_bytes,
                                  .track = entry->track,
                                  .events = entry->events,
                                  .sequence = entry->sequence,
                                  .first = entry->first,
                                  .last = entry->last};
    uint8_t bytes[FRAME_HEADER_BYTES];

    frame_header_write(&header, bytes);
    return index_writer_add(&completion->output.index, (struct slice){bytes, sizeof(bytes)},
                            entry->offset);
}

static int keep_frames(struct completion *completion, size_t cut)
{
    const struct frame_list *list = &completion->shard->list;
    const struct frame_entry *last = cut ? &list->entries[cut - 1] : NULL;
    int status = 0;

    for (size_t i = 0; !status && i < cut; i++)
        status = note_kept(completion, &list->entries[i]);
    if (last) {
        completion->output.bytes = last->offset + FRAME_HEADER_BYTES + last->stored_bytes;
        completion->output.tables.sequence = completion->output.batch_sequence = last->sequence + 1;
    }
    return status;
}

static int write_rest(struct completion *completion, size_t cut, const struct complete_exit *how)
{
    const struct frame_list *list = &completion->shard->list;
    int status = 0;

    for (size_t i = cut; !status && i < list->count; i++) {
        // frames of the file stand in front of those salvaged
        completion->is_held = !(list->entries[i].flags & FRAME_IS_SALVAGED);
        if (shard_has_frame(completion->shard, i))
            status = put_frame(completion, i);
    }
    completion->is_held = false;
    if (!status)
        status = put_exit(completion, how);
    return status ? status : shard_out_seal(&completion->output);
}

static int rewrite_end(struct completion *completion, const struct complete_exit *how)
{
    size_t cut = find_cut(&completion->shard->list);
    struct shard_out *output = &completion->output;
    int status = shard_out_open_end(output, completion->descriptor, completion->path, 0);

    if (!status)
        status = keep_frames(completion, cut);
    uint64_t end = output->bytes;
    if (!status)
        status = write_rest(completion, cut, how);
    // half a frame would read as damage
    if (status && !output->has_tail && ftruncate(completion->descriptor, (off_t)end))
        return fail_errno(completion, "cut");
    return status;
}

// --- the shard -----------------------------------------------------------------

static int open_locked(struct completion *completion)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    completion->descriptor = open(completion->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (completion->descriptor < 0)
        return fail_errno(completion, "open");
    // of the open file, not of the process: reading the shard beside it and
    // closing it again must not give the lock up. Where there are no locks,
    // completing twice at once is a risk we take.
    if (fcntl(completion->descriptor, F_OFD_SETLK, &lock) && (errno == EAGAIN || errno == EACCES))
        return fail(GAIT_ERR_STATE, "'%s' is being completed by another process", completion->path);
    return 0;
}

static int check_state(const struct completion *completion)
{
    if (completion->shard->is_live)
        return fail(GAIT_ERR_STATE, "the process that writes '%s' is still running",
                    completion->path);
    if (!completion->shard->is_whole)
        return fail(GAIT_ERR_MISSING, "the ring file of '%s' is gone", completion->path);
    return 0;
}

static int remove_ring(const struct completion *completion)
{
    const int error = completion->ring ? own_file_remove(completion->ring) : 0;

    return error && error != ENOENT
               ? fail(GAIT_ERR_IO, "cannot remove '%s': %s", completion->ring, strerror(error))
               : 0;
}

static int complete(struct completion *completion, const struct complete_exit *how)
{
    int status = run_open(&completion->run, completion->path);

    if (status)
        return status;
    completion->shard = &completion->run.shards[0]->shard;
    status = salvage_spent_ring(completion->shard, &completion->run.rows, &completion->run.arena,
                                &completion->ring);
    // one that was cut short behind the trailer left the ring file
    if (!status && !completion->shard->list.has_trailer) {
        status = check_state(completion);
        if (!status)
            status = rewrite_end(completion, how);
    }
    if (!status)
        status = remove_ring(completion);
    run_close(&completion->run);
    return status;
}

int complete_shard(const char *path, const struct complete_exit *how)
{
    struct completion completion = {.path = path, .descriptor = -1};

    buffer_init(&completion.payload, FRAME_LIMIT);
    int status = open_locked(&completion);
    if (!status)
        status = complete(&completion, how);
    if (completion.descriptor >= 0)
        close(completion.descriptor);
    shard_out_finish(&completion.output);
    buffer_finish(&completion.payload);
    return status;
}

int complete_directory(const char *path, const struct complete_exit *how)
{
    struct directory files = {0};
    struct arena arena;
    int first_status = 0;

    arena_init(&arena, ARENA_LIMIT);
    int status = directory_list(&files, &arena, path, ".gait");
    if (!status && !files.is_directory)
        status = fail(GAIT_ERR_MISSING, "'%s' is not a directory", path);
    for (size_t i = 0; !status && i < files.count; i++) {
        int one = complete_shard(files.paths[i], how);

        // what is no shard, or cannot be completed, was read as well as can be
        if (one == GAIT_ERR_MEMORY || (one == GAIT_ERR_IO && !first_status))
            first_status = one;
    }
    directory_finish(&files);
    arena_finish(&arena);
    return status ? status : first_status;
}
