// SPDX-License-Identifier: Apache-2.0
// Walks over the fields of a protobuf message in memory, without knowing its definition.
#ifndef GAIT_INGEST_PROTOBUF_READER_H
#define GAIT_INGEST_PROTOBUF_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"

enum protobuf_wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct protobuf_field {
    uint32_t number;
    enum protobuf_wire wire;
    uint64_t value;     // of a number
    struct slice bytes; // of what has a length
};

// A varint off the front: false where there is none.
static inline bool protobuf_varint(struct slice *rest, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 10 && i < rest->count; i++) {
        value |= (uint64_t)(rest->bytes[i] & 0x7f) << (7 * i);
        if (rest->bytes[i] >> 7)
            continue;
        *rest = (struct slice){rest->bytes + i + 1, rest->count - i - 1};
        *ret_value = value;
        return true;
    }
    return false;
}

// The next field off the front: 1, 0 at the end, or -1 where the bytes are no message.
static inline int protobuf_next(struct slice *rest, struct protobuf_field *ret_field)
{
    uint64_t tag, count = 0;
    if (!rest->count)
        return 0;
    if (!protobuf_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return -1;
    *ret_field = (struct protobuf_field){.number = (uint32_t)(tag >> 3),
                                         .wire = (enum protobuf_wire)(tag & 7)};
    switch (ret_field->wire) {
    case WIRE_VARINT:
        return protobuf_varint(rest, &ret_field->value) ? 1 : -1;
    case WIRE_FIXED64:
        count = 8;
        break;
    case WIRE_FIXED32:
        count = 4;
        break;
    case WIRE_BYTES:
        if (!protobuf_varint(rest, &count))
            return -1;
        break;
    default:
        return -1;
    }
    if (count > rest->count)
        return -1;
    ret_field->bytes = (struct slice){rest->bytes, (size_t)count};
    for (size_t i = 0; ret_field->wire != WIRE_BYTES && i < count; i++)
        ret_field->value |= (uint64_t)rest->bytes[i] << (8 * i);
    *rest = (struct slice){rest->bytes + count, rest->count - (size_t)count};
    return 1;
}

static inline double protobuf_double_of(const struct protobuf_field *field)
{
    double real;
    memcpy(&real, &field->value, sizeof real);
    return real;
}

#endif
