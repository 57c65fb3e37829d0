// SPDX-License-Identifier: Apache-2.0
// Writes JSON to a stream as it goes: commas, quotes and escapes are right by
// construction, whatever bytes the names hold. It keeps no error of its own:
// ask ferror() of the stream at the end.
//
//     struct json_writer json = {.out = stdout, .line_depth = JSON_LINES_ALL};
//     json_object(&json);
//     json_key(&json, "steps");
//     json_uint(&json, 12);
//     json_close(&json);
#ifndef GAIT_BASE_JSON_WRITER_H
#define GAIT_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/slice.h"

#define JSON_MAX_DEPTH 32
#define JSON_LINES_ALL JSON_MAX_DEPTH

struct json_writer {
    FILE *out;
    unsigned line_depth; // containers down to this depth put each item on a line
    unsigned indent;     // spaces a level on such a line
    unsigned depth;
    uint32_t is_array, has_items; // one bit a level
    bool after_key;
};

void json_object(struct json_writer *json);
void json_array(struct json_writer *json);
void json_close(struct json_writer *json); // the innermost open one

void json_key(struct json_writer *json, const char *key);

void json_text(struct json_writer *json, const char *text); // NULL gives null
void json_slice(struct json_writer *json, struct slice text);
void json_int(struct json_writer *json, int64_t value);
void json_uint(struct json_writer *json, uint64_t value);
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);

// A member of an object: key and value in one.
void json_put_text(struct json_writer *json, const char *key, const char *text);
void json_put_int(struct json_writer *json, const char *key, int64_t value);
void json_put_uint(struct json_writer *json, const char *key, uint64_t value);
void json_put_bool(struct json_writer *json, const char *key, bool value);

// The shortest digits that give the same double back. JSON knows neither
// infinities nor NaN: they become null.
void json_real(struct json_writer *json, double value);

// JSON text from elsewhere: copied if it is valid, else written as a string.
void json_embed(struct json_writer *json, struct slice text);

#endif
