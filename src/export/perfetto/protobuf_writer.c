// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto/protobuf_writer.h"

#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

#define VARINT_MAX 10

void protobuf_init(struct protobuf_writer *writer, size_t max_bytes)
{
    *writer = (struct protobuf_writer){0};
    buffer_init(&writer->bytes, max_bytes);
}

void protobuf_finish(struct protobuf_writer *writer)
{
    buffer_finish(&writer->bytes);
}

void protobuf_clear(struct protobuf_writer *writer)
{
    writer->bytes.used = 0;
}

static uint8_t *reserve(struct protobuf_writer *writer, size_t bytes)
{
    uint8_t *room = writer->status ? NULL : buffer_reserve(&writer->bytes, bytes);
    if (!room && !writer->status)
        writer->status = fail(GAIT_ERR_MEMORY, "no memory for a protobuf message of %zu bytes",
                              writer->bytes.used + bytes);
    return room;
}

static void advance(struct protobuf_writer *writer, const uint8_t *end)
{
    writer->bytes.used = (size_t)(end - writer->bytes.bytes);
}

static uint8_t *put_varint(uint8_t *put, uint64_t value)
{
    while (value >= 0x80) {
        *put++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *put++ = (uint8_t)value;
    return put;
}

static uint8_t *put_tag(uint8_t *put, uint32_t field, enum wire_type type)
{
    return put_varint(put, (uint64_t)field << 3 | type);
}

void protobuf_uint(struct protobuf_writer *writer, uint32_t field, uint64_t value)
{
    uint8_t *put = reserve(writer, 2 * VARINT_MAX);
    if (put)
        advance(writer, put_varint(put_tag(put, field, WIRE_VARINT), value));
}

void protobuf_fixed64(struct protobuf_writer *writer, uint32_t field, uint64_t value)
{
    uint8_t *put = reserve(writer, VARINT_MAX + 8);
    if (!put)
        return;
    put = put_tag(put, field, WIRE_FIXED64);
    for (int i = 0; i < 8; i++)
        *put++ = (uint8_t)(value >> 8 * i);
    advance(writer, put);
}

void protobuf_double(struct protobuf_writer *writer, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    protobuf_fixed64(writer, field, bits);
}

void protobuf_string(struct protobuf_writer *writer, uint32_t field, const char *text, size_t bytes)
{
    size_t begun = protobuf_begin(writer, field);
    size_t room_bytes = bytes < SIZE_MAX / 4 ? UTF8_REPAIR_BOUND(bytes) : SIZE_MAX;
    char *put = (char *)reserve(writer, room_bytes);
    if (put)
        writer->bytes.used += utf8_repair(put, text, bytes);
    protobuf_end(writer, begun);
}

// One byte is kept for the length, which is enough for nearly all messages.
size_t protobuf_begin(struct protobuf_writer *writer, uint32_t field)
{
    uint8_t *put = reserve(writer, VARINT_MAX + 1);
    if (put)
        advance(writer, put_tag(put, field, WIRE_BYTES) + 1);
    return writer->bytes.used;
}

void protobuf_end(struct protobuf_writer *writer, size_t begun)
{
    uint8_t length[VARINT_MAX];
    if (writer->status)
        return;
    size_t bytes = writer->bytes.used - begun;
    size_t length_bytes = (size_t)(put_varint(length, bytes) - length);
    if (!reserve(writer, VARINT_MAX)) // which may move the bytes
        return;
    uint8_t *message = writer->bytes.bytes + begun;
    if (length_bytes > 1)
        memmove(message + length_bytes - 1, message, bytes);
    memcpy(message - 1, length, length_bytes);
    writer->bytes.used += length_bytes - 1;
}
