// SPDX-License-Identifier: Apache-2.0
// Expected bytes are worked out from the protobuf encoding guide.
#include "export/perfetto/protobuf_writer.h"

#include "support/tap.h"

static bool holds(const struct protobuf_writer *writer, const char *bytes, size_t count)
{
    if (writer->status || writer->bytes.used != count)
        return false;
    return memcmp(writer->bytes.bytes, bytes, count) == 0;
}
#define HOLDS(writer, literal) holds(writer, literal, sizeof(literal) - 1)

TEST("protobuf: a varint takes as many bytes as it needs")
{
    struct protobuf_writer writer;
    protobuf_init(&writer, 1000);
    protobuf_uint(&writer, 1, 150);
    ok(HOLDS(&writer, "\x08\x96\x01"));
    protobuf_clear(&writer);
    protobuf_uint(&writer, 1, 0);
    ok(HOLDS(&writer, "\x08\x00"));
    protobuf_clear(&writer);
    protobuf_uint(&writer, 15, UINT64_MAX); // -2^0 of an int64 as well
    ok(HOLDS(&writer, "\x78\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
    protobuf_clear(&writer);
    protobuf_uint(&writer, 16, 127); // a tag of two bytes
    ok(HOLDS(&writer, "\x80\x01\x7F"));
    protobuf_finish(&writer);
}

TEST("protobuf: fixed and double are eight bytes, least first")
{
    struct protobuf_writer writer;
    protobuf_init(&writer, 1000);
    protobuf_fixed64(&writer, 1, 0x0102030405060708u);
    ok(HOLDS(&writer, "\x09\x08\x07\x06\x05\x04\x03\x02\x01"));
    protobuf_clear(&writer);
    protobuf_double(&writer, 1, 1.0);
    ok(HOLDS(&writer, "\x09\0\0\0\0\0\0\xF0\x3F"));
    protobuf_finish(&writer);
}

TEST("protobuf: a string is repaired and its length is that of the repair")
{
    struct protobuf_writer writer;
    protobuf_init(&writer, 1000);
    protobuf_string(&writer, 2, "testing", 7);
    ok(HOLDS(&writer, "\x12\x07testing"));
    protobuf_clear(&writer);
    protobuf_string(&writer, 2, "a\xFF", 2);
    ok(HOLDS(&writer, "\x12\x04"
                      "a\xEF\xBF\xBD"));
    protobuf_clear(&writer);
    protobuf_string(&writer, 2, "", 0);
    ok(HOLDS(&writer, "\x12\x00"));
    protobuf_finish(&writer);
}

TEST("protobuf: messages nest, long ones move for their length")
{
    struct protobuf_writer writer;
    char long_text[200];
    memset(long_text, 'x', sizeof(long_text));
    protobuf_init(&writer, 1000);
    size_t outer = protobuf_begin(&writer, 1);
    size_t inner = protobuf_begin(&writer, 3);
    protobuf_uint(&writer, 1, 150);
    protobuf_end(&writer, inner);
    protobuf_end(&writer, outer);
    ok(HOLDS(&writer, "\x0A\x05\x1A\x03\x08\x96\x01"));

    protobuf_clear(&writer);
    outer = protobuf_begin(&writer, 1);
    protobuf_string(&writer, 2, long_text, sizeof(long_text));
    protobuf_uint(&writer, 3, 7);
    protobuf_end(&writer, outer);
    is_u64(writer.bytes.used, 3 + 3 + 200 + 2);
    ok(memcmp(writer.bytes.bytes, "\x0A\xCD\x01\x12\xC8\x01xxx", 9) == 0);
    ok(memcmp(writer.bytes.bytes + writer.bytes.used - 3, "x\x18\x07", 3) == 0);
    protobuf_finish(&writer);
}

TEST("protobuf: a message past the limit is a failure that stays")
{
    struct protobuf_writer writer;
    protobuf_init(&writer, 40);
    protobuf_string(&writer, 1, "0123456789012345678901234567890123456789", 40);
    is_int(writer.status, GAIT_ERR_MEMORY);
    protobuf_clear(&writer);
    protobuf_uint(&writer, 1, 1);
    is_int(writer.status, GAIT_ERR_MEMORY);
    is_u64(writer.bytes.used, 0);
    protobuf_end(&writer, protobuf_begin(&writer, 1));
    protobuf_finish(&writer);
}
