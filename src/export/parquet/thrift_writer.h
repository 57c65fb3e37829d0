// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, as far as Parquet's headers need it: fields in rising order,
// numbers, texts, lists and structs. The first failure is kept in `status`.
#ifndef GAIT_EXPORT_THRIFT_WRITER_H
#define GAIT_EXPORT_THRIFT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { THRIFT_MOST_DEPTH = 8 };
enum thrift_type {
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_TEXT = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};

struct thrift_writer {
    struct buffer *out;
    int status;
    int last[THRIFT_MOST_DEPTH]; // field of each open struct
    size_t depth;
};

void thrift_put_i32(struct thrift_writer *writer, int field, int32_t value);
void thrift_put_i64(struct thrift_writer *writer, int field, int64_t value);
void thrift_put_text(struct thrift_writer *writer, int field, const char *text);
void thrift_begin_struct(struct thrift_writer *writer, int field);
void thrift_begin_list(struct thrift_writer *writer, int field, enum thrift_type type,
                       size_t count);
void thrift_begin_element(struct thrift_writer *writer);          // of a list of structs
void thrift_add_i32(struct thrift_writer *writer, int32_t value); // to a list
void thrift_add_text(struct thrift_writer *writer, const char *text);
void thrift_end(struct thrift_writer *writer); // the innermost struct or element, or the whole

#endif
