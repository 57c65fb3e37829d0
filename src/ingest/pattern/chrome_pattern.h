// SPDX-License-Identifier: Apache-2.0
// Events that are written like one before them. Most of a trace repeats: a pattern is the
// text of an event with holes where its numbers stand, and what the rest of it means. An
// event that fits is read by comparing, without looking for its parts.
#ifndef GAIT_INGEST_PATTERN_CHROME_PATTERN_H
#define GAIT_INGEST_PATTERN_CHROME_PATTERN_H

#include "base/arena.h"
#include "ingest/event_store.h"

enum hole_kind { HOLE_START, HOLE_DURATION, HOLE_ID, HOLE_INTEGER, HOLE_DECIMAL };

// A number between two literal stretches.
struct pattern_hole {
    uint32_t literal; // bytes in front of it, behind the hole before
    uint8_t kind, blank, digits;
};

enum { PATTERN_MOST_HOLES = 14 };

// What an event becomes, but for its holes. Its text stands behind the holes: all of it
// lies together, since a trace has more patterns than a processor's cache has room for.
struct pattern {
    uint32_t bytes;                // of the whole event that it was made from
    uint32_t rest;                 // of them, behind the last hole
    uint16_t hole_count, text_ids; // text_ids: repairs of that kind in each event
    struct store_place place;
    struct row row;
    struct pattern_hole holes[];
};

static inline const uint8_t *pattern_text(const struct pattern *pattern)
{
    return (const uint8_t *)(pattern->holes + pattern->hole_count);
}

// An event that was read the long way, and where its numbers stand in it; in any order.
struct pattern_draft {
    struct slice text;
    struct store_place place;
    struct row row;
    uint16_t hole_count, text_ids;
    struct draft_hole {
        uint32_t at, bytes;
        uint8_t kind, blank, digits;
    } holes[PATTERN_MOST_HOLES];
};

// Where an event departs from a pattern: in its text, and what stands there instead.
struct pattern_miss {
    uint32_t at;
    uint32_t byte;
};

// Behind the text of an event that fits, or NULL (pattern_fit.h).
typedef const uint8_t *pattern_fit(const struct pattern *pattern, const uint8_t *at,
                                   struct row *row, struct pattern_miss *ret_miss);

// Events that depart there from a pattern, that way, are to be tried with `to`.
struct pattern_branch {
    uint32_t from; // 0: none
    struct pattern_miss miss;
    uint32_t to;
};

// One thread learns, any number of them look up meanwhile: what is there stays as it is.
struct pattern_table {
    pattern_fit *fit;
    struct arena kept;
    uint32_t count;
    struct pattern **patterns; // NULL: there is no memory, and nothing is learnt
    uint32_t *heads;           // by hash: the first one, + 1
    struct pattern_branch *branches;
};

void pattern_table_init(struct pattern_table *table);
void pattern_table_finish(struct pattern_table *table);

// The number + 1 of the pattern to begin with, and where that one did not fit, of the next;
// 0: none.
uint32_t pattern_table_first(const struct pattern_table *table, struct slice text);
uint32_t pattern_table_branch(const struct pattern_table *table, const struct pattern_branch *end);

// Learns from an event for which the search ended there: its number + 1, or 0.
uint32_t pattern_table_learn(struct pattern_table *table, struct pattern_draft *draft,
                             const struct pattern_branch *end);

#endif
