// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/thrift_writer.h"

#include <string.h>

static void put_byte(struct thrift_writer *writer, uint8_t byte)
{
    if (!writer->status)
        writer->status = buffer_append(writer->out, &byte, 1);
}

static void put_varint(struct thrift_writer *writer, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(writer, (uint8_t)(value | 0x80));
    put_byte(writer, (uint8_t)value);
}

static void put_zigzag(struct thrift_writer *writer, int64_t value)
{
    const uint64_t bits = (uint64_t)value << 1;
    put_varint(writer, value < 0 ? ~bits : bits);
}

static void put_field(struct thrift_writer *writer, int field, enum thrift_type type)
{
    int *last = &writer->last[writer->depth];
    put_byte(writer, (uint8_t)((field - *last) << 4 | (int)type));
    *last = field;
}

void thrift_put_i32(struct thrift_writer *writer, int field, int32_t value)
{
    put_field(writer, field, THRIFT_I32);
    put_zigzag(writer, value);
}

void thrift_put_i64(struct thrift_writer *writer, int field, int64_t value)
{
    put_field(writer, field, THRIFT_I64);
    put_zigzag(writer, value);
}

void thrift_put_text(struct thrift_writer *writer, int field, const char *text)
{
    put_field(writer, field, THRIFT_TEXT);
    thrift_add_text(writer, text);
}

void thrift_begin_struct(struct thrift_writer *writer, int field)
{
    put_field(writer, field, THRIFT_STRUCT);
    thrift_begin_element(writer);
}

void thrift_begin_list(struct thrift_writer *writer, int field, enum thrift_type type, size_t count)
{
    put_field(writer, field, THRIFT_LIST);
    put_byte(writer, (uint8_t)((count < 15 ? count : 15) << 4 | (size_t)type));
    if (count >= 15)
        put_varint(writer, count);
}

void thrift_begin_element(struct thrift_writer *writer)
{
    writer->last[++writer->depth] = 0;
}

void thrift_add_i32(struct thrift_writer *writer, int32_t value)
{
    put_zigzag(writer, value);
}

void thrift_add_text(struct thrift_writer *writer, const char *text)
{
    put_varint(writer, strlen(text));
    if (!writer->status)
        writer->status = buffer_append(writer->out, text, strlen(text));
}

void thrift_end(struct thrift_writer *writer)
{
    put_byte(writer, 0);
    if (writer->depth)
        writer->depth--;
}
