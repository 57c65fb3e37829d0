// SPDX-License-Identifier: Apache-2.0
// Events that are written like one before them. Most of a trace repeats: a pattern is the
// text of an event with holes where its numbers stand, and what the rest of it means. An
// event that fits is read by comparing, without looking for its parts.
#ifndef GAIT_INGEST_CHROME_PATTERN_H
#define GAIT_INGEST_CHROME_PATTERN_H

#include "ingest/event_store.h"

enum hole_kind { HOLE_START, HOLE_DURATION, HOLE_ID, HOLE_INTEGER, HOLE_DECIMAL };

struct pattern_hole {
    uint32_t at, bytes; // in the text that the pattern was made from
    uint8_t kind, blank, digits;
};

enum { PATTERN_MOST_HOLES = 14, PATTERN_FOLLOWERS = 2 };

// What an event becomes, but for its holes.
struct pattern {
    const uint8_t *text; // literal stretches alone, one behind the other
    struct pattern_hole holes[PATTERN_MOST_HOLES];
    uint32_t hole_count, bytes;       // bytes: of the whole event
    uint32_t next[PATTERN_FOLLOWERS]; // patterns + 1 that came behind it, the newest first
    uint32_t same;                    // the next one of the same hash, + 1
    uint32_t text_ids;                // repairs of that kind in each event
    struct store_place place;
    struct row row;
};

struct pattern_table {
    struct arena texts;
    struct pattern *patterns;
    size_t count, room;
    uint32_t *heads; // by hash: the first one, + 1
    uint32_t last;   // the one that fitted last, + 1
};

void pattern_table_init(struct pattern_table *table);
void pattern_table_finish(struct pattern_table *table);

// The pattern that the text begins with: its number of bytes there, and the row filled in;
// 0 if none fits.
size_t pattern_table_match(struct pattern_table *table, struct slice text,
                           const struct pattern **ret_pattern, struct row *ret_row);

// Learns from an event that was read the long way. Holes need not be in order.
void pattern_table_learn(struct pattern_table *table, struct slice text, struct pattern *pattern);

// What was read last was none of the patterns.
static inline void pattern_table_lose(struct pattern_table *table)
{
    table->last = 0;
}

#endif
