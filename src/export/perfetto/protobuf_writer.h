// SPDX-License-Identifier: Apache-2.0
// Writes the protobuf wire format into memory: fields one after another, and
// messages within messages between begin and end. The first failure is kept in
// `status`; fields after it go nowhere.
#ifndef GAIT_EXPORT_PROTOBUF_WRITER_H
#define GAIT_EXPORT_PROTOBUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct protobuf_writer {
    struct buffer bytes;
    int status;
};

void protobuf_init(struct protobuf_writer *writer, size_t max_bytes);
void protobuf_finish(struct protobuf_writer *writer); // takes a zeroed struct

// Empties it for the next message; a failure stays.
void protobuf_clear(struct protobuf_writer *writer);

// For uint32, uint64, enum and bool; int32 and int64 (not sint) take the same
// form, as two's complement of 64 bits.
void protobuf_uint(struct protobuf_writer *writer, uint32_t field, uint64_t value);
void protobuf_fixed64(struct protobuf_writer *writer, uint32_t field, uint64_t value);
void protobuf_double(struct protobuf_writer *writer, uint32_t field, double value);

// A string must be UTF-8, so bytes that are not are repaired.
void protobuf_string(struct protobuf_writer *writer, uint32_t field, const char *text,
                     size_t bytes);

// begin returns what its end takes. The length is written at the end, in as
// few bytes as it needs.
size_t protobuf_begin(struct protobuf_writer *writer, uint32_t field);
void protobuf_end(struct protobuf_writer *writer, size_t begun);

#endif
