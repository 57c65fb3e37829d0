// SPDX-License-Identifier: Apache-2.0
// The little JSON that the reader itself must understand: one text, one whole
// number, or numbers of one object, as metadata holds them.
#ifndef GAIT_LOAD_JSON_VALUE_H
#define GAIT_LOAD_JSON_VALUE_H

#include <stdint.h>

#include "base/buffer.h"

// Appends the text that a JSON string stands for, with a 0 behind it that is
// counted. What is no JSON string is appended as it stands.
GAIT_CHECK int json_value_text(const char *json, struct buffer *out);

// The whole number that `json` is (or the text of), else `otherwise`.
int64_t json_value_integer(const char *json, int64_t otherwise);

// The first member `key` of an object, if it is a number that is not negative; else 0.
double json_value_member(const char *json, const char *key);

#endif
