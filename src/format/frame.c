// SPDX-License-Identifier: Apache-2.0
// Byte layout of frame headers and the trailer, and their hashes. Columns are
// table_writer.c's and table_reader.c's.
#include "format/frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "base/fail.h"

static const uint8_t frame_magic[8] = {0x89, 'G', 'A', 'I', 'T', '\r', '\n', 0x1a};
static const uint8_t trailer_magic[8] = {'G', 'A', 'I', 'T', 'E', 'N', 'D', '\n'};

#define HEADER_HASH_AT 60
#define TRAILER_HASH_AT 28
#define DIRECTORY_MIN_BYTES 8

uint64_t frame_hash(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}

static uint32_t short_hash(const uint8_t *bytes, size_t count)
{
    return (uint32_t)frame_hash(bytes, count);
}

void frame_header_write(const struct frame_header *header, uint8_t out[FRAME_HEADER_BYTES])
{
    memcpy(out, frame_magic, sizeof(frame_magic));
    bytes_put16(out + 8, header->version);
    bytes_put16(out + 10, header->table);
    bytes_put32(out + 12, header->rows);
    bytes_put32(out + 16, header->stored_bytes);
    bytes_put32(out + 20, header->track);
    bytes_put64(out + 24, header->sequence);
    bytes_put64(out + 32, header->first);
    bytes_put64(out + 40, header->last);
    bytes_put64(out + 48, header->payload_hash);
    bytes_put32(out + 56, header->events);
    bytes_put32(out + HEADER_HASH_AT, short_hash(out, HEADER_HASH_AT));
}

// What is wrong with a header, or NULL. No story is told here: frame_find()
// tries thousands of places, and failing is the rule there.
static const char *parse_header(const uint8_t *in, struct frame_header *header)
{
    if (memcmp(in, frame_magic, sizeof(frame_magic)) != 0)
        return "magic number missing";
    if (bytes_get32(in + HEADER_HASH_AT) != short_hash(in, HEADER_HASH_AT))
        return "header hash differs";
    *header = (struct frame_header){
        .version = bytes_get16(in + 8),
        .table = bytes_get16(in + 10),
        .rows = bytes_get32(in + 12),
        .stored_bytes = bytes_get32(in + 16),
        .track = bytes_get32(in + 20),
        .sequence = bytes_get64(in + 24),
        .first = bytes_get64(in + 32),
        .last = bytes_get64(in + 40),
        .payload_hash = bytes_get64(in + 48),
        .events = bytes_get32(in + 56),
    };
    if (header->version != FRAME_VERSION)
        return "format version is not known to this version of gait";
    if (header->rows > FRAME_MAX_ROWS)
        return "too many rows";
    if (header->stored_bytes > FRAME_MAX_PAYLOAD || header->stored_bytes % 8 ||
        header->stored_bytes < DIRECTORY_MIN_BYTES)
        return "payload size is impossible";
    if (header->rows > FRAME_MAX_ROWS_OF(header->stored_bytes))
        return "more rows than its bytes can stand for";
    if (header->events > header->rows)
        return "more events than rows";
    if (header->first > header->last)
        return "the end time lies before the start time";
    return NULL;
}

int frame_header_read(const uint8_t in[FRAME_HEADER_BYTES], struct frame_header *ret_header)
{
    struct frame_header header;
    const char *wrong = parse_header(in, &header);

    if (wrong)
        return fail(GAIT_ERR_FORMAT, "bad frame header: %s", wrong);
    *ret_header = header;
    return 0;
}

bool frame_payload_is_intact(const struct frame_header *header, const uint8_t *payload)
{
    return frame_hash(payload, header->stored_bytes) == header->payload_hash;
}

void frame_trailer_write(const struct frame_trailer *trailer, uint8_t out[FRAME_TRAILER_BYTES])
{
    memcpy(out, trailer_magic, sizeof(trailer_magic));
    bytes_put64(out + 8, trailer->index_offset);
    bytes_put64(out + 16, trailer->frame_count);
    bytes_put32(out + 24, 0);
    bytes_put32(out + TRAILER_HASH_AT, short_hash(out, TRAILER_HASH_AT));
}

int frame_trailer_read(const uint8_t in[FRAME_TRAILER_BYTES], struct frame_trailer *ret_trailer)
{
    if (memcmp(in, trailer_magic, sizeof(trailer_magic)) != 0)
        return fail(GAIT_ERR_FORMAT, "no trailer: magic number missing");
    if (bytes_get32(in + TRAILER_HASH_AT) != short_hash(in, TRAILER_HASH_AT))
        return fail(GAIT_ERR_FORMAT, "bad trailer: hash differs");
    if (bytes_get32(in + 24) != 0)
        return fail(GAIT_ERR_FORMAT, "bad trailer: reserved bytes are not zero");
    ret_trailer->index_offset = bytes_get64(in + 8);
    ret_trailer->frame_count = bytes_get64(in + 16);
    return 0;
}

size_t frame_find(const uint8_t *file, size_t bytes, size_t from)
{
    const uint64_t magic = bytes_get64(frame_magic);
    struct frame_header header;

    if (bytes < FRAME_HEADER_BYTES || from > bytes - FRAME_HEADER_BYTES)
        return bytes;
    for (size_t at = (from + 7) & ~(size_t)7; at <= bytes - FRAME_HEADER_BYTES; at += 8)
        if (bytes_get64(file + at) == magic && !parse_header(file + at, &header))
            return at;
    return bytes;
}
