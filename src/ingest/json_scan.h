// SPDX-License-Identifier: Apache-2.0
// Walks through JSON text without copying it. It takes more than JSON: control characters
// and quotes within texts, NaN, a comma too many; what it passes over so is counted. The
// text may end anywhere: SCAN_CUT means that more of it may follow.
#ifndef GAIT_INGEST_JSON_SCAN_H
#define GAIT_INGEST_JSON_SCAN_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "ingest/repairs.h"

struct json_scan {
    const uint8_t *at, *end;
    struct repairs *repairs;
};

enum scan_type {
    SCAN_STRING,
    SCAN_NUMBER,
    SCAN_OBJECT,
    SCAN_ARRAY,
    SCAN_WORD, // true, false, null, NaN, Infinity
};

// A value as it stands in the text; of a string what is between its quotes.
struct json_value {
    enum scan_type type;
    bool has_escape; // of a string
    struct slice text;
};

enum { SCAN_CUT = 2, SCAN_BROKEN = 3 }; // beside 0 and 1; failures are below

// The next value: 1, SCAN_CUT or SCAN_BROKEN. `scan` moves behind it when it is there.
int json_scan_value(struct json_scan *scan, struct json_value *ret_value);

// Enters the object or array at hand: true if one begins here.
bool json_scan_enter(struct json_scan *scan, char bracket);

// The next member of the object that was entered: 1, or 0 behind its end, or SCAN_CUT or
// SCAN_BROKEN.
int json_scan_member(struct json_scan *scan, struct json_value *ret_key,
                     struct json_value *ret_value);

// The key of the next member alone: the scan stands before its value.
int json_scan_key(struct json_scan *scan, struct json_value *ret_key);

void json_scan_blanks(struct json_scan *scan);

static inline bool json_is(const struct json_value *value, const char *text)
{
    return slice_is(value->text, text);
}

// What a string says, as UTF-8; the bytes of `room` where it has escapes or must be
// repaired, else those of the value. Empty where there is no memory.
struct slice json_scan_text(struct json_scan *scan, const struct json_value *value,
                            struct buffer *room);

// A number written without an exponent: its digits as an integer, and how many of them
// stand behind the point. False for all others and beyond 64 bits.
struct json_decimal {
    int64_t digits;
    unsigned places;
};
bool json_decimal_of(struct slice text, struct json_decimal *ret_decimal);

#endif
