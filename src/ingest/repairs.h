// SPDX-License-Identifier: Apache-2.0
// What a foreign file had wrong and was read all the same: counted by kind.
#ifndef GAIT_INGEST_REPAIRS_H
#define GAIT_INGEST_REPAIRS_H

#include <stddef.h>
#include <stdint.h>

// X(identifier, "key", "what the answer says")
#define REPAIRS(X)                                                                                 \
    X(CONTROL, "control_characters", "control characters in texts")                                \
    X(UTF8, "bad_utf8", "texts that were no UTF-8")                                                \
    X(QUOTE, "unescaped_quotes", "quotes in texts without a backslash")                            \
    X(NOT_FINITE, "not_finite", "NaN or Infinity among the values")                                \
    X(LARGE, "large_integers", "integers beyond 64 bits")                                          \
    X(NEGATIVE, "negative_durations", "negative durations, taken as 0")                            \
    X(TEXT_ID, "text_ids", "process or thread numbers written as texts")                           \
    X(DUPLICATE, "duplicate_keys", "keys that stood twice, the last one counts")                   \
    X(FINE, "finer_than_ns", "times finer than a nanosecond, rounded")                             \
    X(TIME, "bad_times", "times that are none or beyond 64 bits")                                  \
    X(UNPAIRED, "unpaired", "ends without a begin")                                                \
    X(UNFINISHED, "unfinished", "begins without an end, which last as long as what they are in")   \
    X(JUNK, "skipped_bytes", "bytes that are no event, skipped")                                   \
    X(LOST, "skipped_events", "events that could not be read, skipped")                            \
    X(TRUNCATED, "truncated", "ends before it is complete")                                        \
    X(TRAILING, "trailing_bytes", "bytes behind the end, skipped")                                 \
    X(GZIP, "gzip_damage", "places where the packed data are damaged")                             \
    X(OPAQUE, "opaque_values", "values that only code could make, left out")

enum repair {
#define X(identifier, key, words) REPAIR_##identifier,
    REPAIRS(X)
#undef X
        REPAIR_COUNT
};

struct repairs {
    uint64_t counts[REPAIR_COUNT];
};

const char *repair_key(enum repair repair);
const char *repair_words(enum repair repair);

void repairs_add(struct repairs *into, const struct repairs *from);

#endif
