// SPDX-License-Identifier: Apache-2.0
// Reads small JSON documents (RFC 8259, strict), a token at a time, without recursion and
// without memory of its own. Below it: members and texts of metadata, by their name.
#ifndef GAIT_BASE_JSON_READER_H
#define GAIT_BASE_JSON_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"

#define JSON_MOST_DEPTH 64

enum json_kind {
    JSON_BROKEN, // no JSON, or nested deeper than JSON_MOST_DEPTH; nothing follows
    JSON_END,
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_CLOSE, // of the innermost object or array
    JSON_TEXT,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json_reader {
    struct slice left;
    char close[JSON_MOST_DEPTH]; // of the open containers, innermost last
    size_t depth;
    bool has_value; // in the innermost container: what follows needs a comma
};

// Slices point into the document. Texts and keys stand as written, escapes and quotes
// included; `key` is empty outside of an object.
struct json_token {
    struct slice key, text;
    size_t depth; // containers around it
};

static inline struct json_reader json_reader_of(struct slice document)
{
    return (struct json_reader){.left = document};
}

enum json_kind json_next(struct json_reader *reader, struct json_token *ret_token);

// Whether the bytes are one JSON value, in valid UTF-8.
bool json_is_valid(struct slice text);

// What follows takes metadata: one value with a 0 behind it, or NULL.

// A member of the object `json`. A key with escapes is none that anybody asks for.
// JSON_BROKEN: there is none, or what stands before it is broken.
enum json_kind json_member(const char *json, const char *key, struct json_token *ret_token);

// False: there is none, or it is no finite number.
bool json_member_real(const char *json, const char *key, double *ret_number);

// The same, 0 where there is none or it is negative.
double json_member_count(const char *json, const char *key);

// Whether `json` is that text, in which nothing needs an escape.
bool json_is_text(const char *json, const char *text);

bool json_is_true(const char *json);

// The whole number that `json` is (or the text of), else `otherwise`.
int64_t json_integer(const char *json, int64_t otherwise);

// Appends the text that a JSON string stands for, with a 0 behind it that is counted. What
// is no JSON string is appended as it stands.
GAIT_CHECK int json_decode(const char *json, struct buffer *out);

#endif
