// SPDX-License-Identifier: Apache-2.0
// Texts in a trace may hold any bytes; what leaves gait is UTF-8. Repairs
// invalid bytes to U+FFFD (one for each maximal ill-formed run, as Python's
// "replace" does) and escapes for JSON.
#ifndef GAIT_BASE_UTF8_H
#define GAIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/buffer.h"

// Bytes at the front of `text` that are valid UTF-8.
size_t utf8_valid_prefix(const char *text, size_t bytes);

// Bytes at the front of `text` that one U+FFFD stands for; at least 1. Call it
// where utf8_valid_prefix() gave 0 and `bytes` is not 0.
size_t utf8_broken_prefix(const char *text, size_t bytes);

// Writes a code point, which is no surrogate and not beyond U+10FFFF; returns the 1 to
// 4 bytes that it took.
size_t utf8_put(char *out, uint32_t code);

// Takes a character off the front of a text that is not empty: its code point. U+FFFD
// stands for what is ill-formed.
uint32_t utf8_take(const char **text, size_t *left);

// Controls, and what turns or hides the writing around it: a reader must see these, and
// no terminal or editor may obey them.
bool utf8_is_unsafe(uint32_t code);
// Writes such a code point as \xNN or \u{NNNN}, with a NUL; returns the bytes without it.
enum { UTF8_SHOWN_BYTES = 12 };
size_t utf8_show(char out[UTF8_SHOWN_BYTES], uint32_t code);

// Writes `text` repaired to `out`, which has room for UTF8_REPAIR_BOUND(bytes);
// returns the bytes written. No NUL is added.
#define UTF8_REPAIR_BOUND(bytes) (3 * (bytes))
size_t utf8_repair(char *out, const char *text, size_t bytes);

// Writes `text` repaired and escaped as a JSON string, quotes included, to
// `out`, which has room for UTF8_JSON_BOUND(bytes); returns the bytes written.
// What utf8_is_unsafe() is escaped too: the text is JavaScript as well, and safe to look at.
#define UTF8_JSON_BOUND(bytes) (6 * (bytes) + 2)
size_t utf8_json(char *out, const char *text, size_t bytes);

// The same two at the end of a buffer.
GAIT_CHECK int utf8_append_repaired(struct buffer *buffer, const char *text, size_t bytes);
GAIT_CHECK int utf8_append_json(struct buffer *buffer, const char *text, size_t bytes);

#endif
