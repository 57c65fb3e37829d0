// SPDX-License-Identifier: Apache-2.0
// One *.gait file. Every read checks the hash again: the file may have changed
// since, and XXH3 costs less than the copy it guards.
#include "load/shard/shard.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

#define MAGIC_BYTES 8

// Why a file without one intact frame cannot be read.
static int refuse(struct shard *shard)
{
    static const uint8_t magic[MAGIC_BYTES] = {0x89, 'G', 'A', 'I', 'T', '\r', '\n', 0x1a};
    uint8_t head[MAGIC_BYTES + 2];
    const char *path = shard->source.path;

    if (!shard->source.bytes)
        return fail(GAIT_ERR_FORMAT, "'%s' is empty", path);
    if (shard->source.bytes < sizeof(head) ||
        file_source_read(&shard->source, 0, head, sizeof(head)) ||
        memcmp(head, magic, MAGIC_BYTES) != 0)
        return fail(GAIT_ERR_FORMAT, "'%s' is not a gait file", path);
    if (head[8] != FRAME_VERSION || head[9])
        return fail(GAIT_ERR_FORMAT, "'%s' has format version %d; this gait reads version %d", path,
                    head[8] + 256 * head[9], FRAME_VERSION);
    return fail(GAIT_ERR_FORMAT, "'%s' is a gait file, but no frame of it is intact", path);
}

static int list_frames(struct shard *shard)
{
    size_t damage_before = shard->damage->count;
    int status = frame_list_load(&shard->list, &shard->source, shard->damage);

    if (status)
        return status;
    if (shard->list.count)
        return 0;
    shard->damage->count = damage_before;
    return refuse(shard);
}

static void begin_shard(struct shard *shard, struct damage *damage)
{
    *shard = (struct shard){.damage = damage};
    shard->source.descriptor = -1;
    buffer_init(&shard->salvaged, SIZE_MAX / 2);
}

int shard_open(struct shard *shard, struct file_pool *pool, struct damage *damage, const char *path)
{
    begin_shard(shard, damage);
    int status = file_source_open(&shard->source, pool, path);
    if (!status)
        status = list_frames(shard);
    if (status)
        shard_close(shard);
    return status;
}

int shard_open_memory(struct shard *shard, struct damage *damage, struct slice bytes)
{
    begin_shard(shard, damage);
    file_source_open_memory(&shard->source, "memory", bytes);
    int status = list_frames(shard);
    if (status)
        shard_close(shard);
    return status;
}

void shard_close(struct shard *shard)
{
    if (!shard)
        return;
    file_source_close(&shard->source);
    frame_list_finish(&shard->list);
    buffer_finish(&shard->salvaged);
}

static int note(struct shard *shard, size_t index, const char *what)
{
    const struct frame_entry *entry = &shard->list.entries[index];
    struct damage_range range = {.path = shard->source.path,
                                 .offset = entry->offset,
                                 .bytes = FRAME_HEADER_BYTES + (uint64_t)entry->stored_bytes,
                                 .what = what};

    return damage_add(shard->damage, &range);
}

int shard_reject(struct shard *shard, size_t index, const char *what)
{
    struct frame_entry *entry = &shard->list.entries[index];

    if (entry->flags & FRAME_IS_BAD)
        return GAIT_ERR_FORMAT;
    int status = note(shard, index, what);
    if (status)
        return status;
    entry->flags |= FRAME_IS_BAD;
    shard->damage->has_news = true;
    return GAIT_ERR_FORMAT;
}

int shard_note(struct shard *shard, size_t index, const char *what)
{
    struct frame_entry *entry = &shard->list.entries[index];

    if (entry->flags & FRAME_IS_NOTED)
        return 0;
    int status = note(shard, index, what);
    if (!status)
        entry->flags |= FRAME_IS_NOTED;
    return status;
}

static int read_bytes(struct shard *shard, const struct frame_entry *entry, struct buffer *payload)
{
    size_t count = FRAME_HEADER_BYTES + (size_t)entry->stored_bytes;
    uint8_t *bytes;

    payload->used = 0;
    bytes = buffer_reserve(payload, count + 8); // decoders may look a few bytes ahead
    if (!bytes)
        return fail(GAIT_ERR_MEMORY, "no memory for a frame of %zu bytes", count);
    memset(bytes + count, 0, 8);
    payload->used = count;
    if (!(entry->flags & FRAME_IS_SALVAGED))
        return file_source_read(&shard->source, entry->offset, bytes, count);
    memcpy(bytes, shard->salvaged.bytes + entry->offset, count);
    return 0;
}

// Reads a frame and compares it with its hashes and with the list.
static int read_intact(struct shard *shard, size_t index, struct buffer *payload,
                       struct frame_header *ret_header)
{
    const struct frame_entry *entry = &shard->list.entries[index];
    int status = read_bytes(shard, entry, payload);

    if (status == GAIT_ERR_MEMORY)
        return status;
    if (status)
        return shard_reject(shard, index, "the system refused to read this frame");
    if (frame_header_read(payload->bytes, ret_header) || !frame_entry_matches(entry, ret_header))
        return shard_reject(shard, index, "the header of this frame is damaged");
    if (!frame_payload_is_intact(ret_header, payload->bytes + FRAME_HEADER_BYTES))
        return shard_reject(shard, index, "the content of this frame is damaged");
    return 0;
}

int shard_read(struct shard *shard, size_t index, struct buffer *payload,
               struct table_view *ret_view)
{
    struct frame_header header;

    if (!shard_has_frame(shard, index))
        return GAIT_ERR_FORMAT;
    int status = read_intact(shard, index, payload, &header);
    if (status)
        return status;
    status = table_view_init(ret_view, &header, payload->bytes + FRAME_HEADER_BYTES);
    if (status && status != GAIT_ERR_MEMORY)
        return shard_reject(shard, index, fail_text());
    return status;
}

int shard_verify(struct shard *shard)
{
    struct frame_header header;
    struct buffer payload;
    int status = 0;

    if (shard->is_verified)
        return 0;
    buffer_init(&payload, FRAME_MAX_PAYLOAD + 2 * FRAME_HEADER_BYTES);
    for (size_t i = 0; !status && i < shard->list.count; i++) {
        if (!shard_has_frame(shard, i))
            continue;
        status = read_intact(shard, i, &payload, &header);
        if (status == GAIT_ERR_FORMAT)
            status = 0;
    }
    buffer_finish(&payload);
    shard->is_verified = !status;
    return status;
}
