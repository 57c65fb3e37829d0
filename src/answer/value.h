// SPDX-License-Identifier: Apache-2.0
// A figure or a text with its unit, and how people read it.
#ifndef GAIT_ANSWER_VALUE_H
#define GAIT_ANSWER_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unit {
    UNIT_NONE, // a text, or a number that counts nothing: of a process, of a step
    UNIT_COUNT,
    UNIT_NS,
    UNIT_BYTES,
    UNIT_SHARE, // 0.25 is 25 %
};

enum value_kind {
    VALUE_NONE, // not known: null
    VALUE_TEXT,
    VALUE_INT,
    VALUE_UINT,
    VALUE_REAL,
    VALUE_SHARE, // a part of a whole
    VALUE_MEAN,  // of so much in so many: `part` by `whole`
    VALUE_BOOL,
    VALUE_JSON, // a text of JSON from elsewhere
};

struct value {
    enum value_kind kind;
    union {
        const char *text;
        int64_t integer;
        uint64_t natural;
        double real;
        bool truth;
        struct {
            uint64_t part, whole;
        };
    };
};

struct value value_none(void);
struct value value_text(const char *text); // NULL: not known
struct value value_json(const char *text);
struct value value_int(int64_t integer);
struct value value_uint(uint64_t natural);
struct value value_real(double real);
struct value value_bool(bool truth);
struct value value_share(uint64_t part, uint64_t whole); // not known where whole is 0
struct value value_mean(uint64_t sum, uint64_t count);   // not known of nothing
struct value value_rank(int64_t rank);                   // not known below 0
struct value value_if(bool is_known, struct value value);

// As people read it. A table has little room for a count: "1,068 M".
enum value_room { VALUE_WHOLE, VALUE_SHORT };
enum { VALUE_TEXT_BYTES = 64 };
// The text is `out`, or the value's own where that is a text.
const char *value_show(struct value value, enum unit unit, enum value_room room,
                       char out[VALUE_TEXT_BYTES]);

// As a number to compare and to add; 0 for what is none.
double value_number(struct value value);
// Whether it is one: not a text, a truth or unknown.
bool value_is_number(struct value value);

#endif
