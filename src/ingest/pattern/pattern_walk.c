// SPDX-License-Identifier: Apache-2.0
#include "ingest/pattern/pattern_walk.h"

#include <stdlib.h>

#include "ingest/pattern/pattern_fit.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION // small inputs reach the ends of small tables
#define LOGGED ((uint32_t)1 << 7)
#define PLACES ((uint32_t)1 << 6)
#else
#define LOGGED ((uint32_t)1 << 18)
#define PLACES ((uint32_t)1 << 17)
#endif
#define CACHE_LINE 64
#define FETCHED 512 // bytes of a pattern that are fetched ahead
#define AHEAD 2     // so many events before it is needed

void pattern_walk_init(struct pattern_walk *walk, const struct pattern_table *table)
{
    *walk = (struct pattern_walk){.table = table, .log = calloc(LOGGED, sizeof *walk->log)};
    walk->places = walk->log ? calloc(PLACES, sizeof *walk->places) : NULL;
}

void pattern_walk_finish(struct pattern_walk *walk)
{
    free(walk->log);
    free(walk->places);
}

static size_t try(struct pattern_walk *walk, uint32_t number, struct slice text,
                  struct row *ret_row)
{
    const struct pattern *pattern = walk->table->patterns[number - 1];
    walk->end = (struct pattern_branch){.from = 0};
    // each hole may be longer than it was
    if (text.count < pattern->bytes + (size_t)pattern->hole_count * FIT_MOST_HOLE + FIT_BEHIND)
        return 0;
    *ret_row = pattern->row;
    const uint8_t *end = walk->table->fit(pattern, text.bytes, ret_row, &walk->end.miss);
    walk->end.from = number;
    return end ? (size_t)(end - text.bytes) : 0;
}

// What is likely to come is fetched while the event at hand is put away.
static void fetch_ahead(const struct pattern_walk *walk)
{
    const uint32_t number = walk->log[(walk->replay + AHEAD) % LOGGED];
    if (!number)
        return;
    const uint8_t *pattern = (const uint8_t *)walk->table->patterns[number - 1];
    for (size_t at = 0; at < FETCHED; at += CACHE_LINE)
        __builtin_prefetch(pattern + at);
}

// What stands in the log may be written over by now: it is a guess, no more.
void pattern_walk_note(struct pattern_walk *walk, uint32_t number)
{
    if (!walk->places)
        return;
    const bool is_as_before = walk->log[walk->replay % LOGGED] == number;
    // what is a few steps back fades out of the path
    walk->path = (walk->path << 6 ^ (number * 0x9E3779B1u) >> 8) % PLACES;
    const uint32_t before = walk->places[walk->path];
    walk->places[walk->path] = walk->logged;
    walk->log[walk->logged++ % LOGGED] = number;
    walk->replay = is_as_before ? walk->replay + 1 : before + 1;
    fetch_ahead(walk);
}

size_t pattern_walk_match(struct pattern_walk *walk, struct slice text,
                          const struct pattern **ret_pattern, struct row *ret_row)
{
    uint32_t number = walk->places ? walk->log[walk->replay % LOGGED] : 0;
    size_t count = number ? try(walk, number, text, ret_row) : 0;
    if (!count) {
        walk->end = (struct pattern_branch){.from = 0};
        number = pattern_table_first(walk->table, text);
    }
    while (!count && number) {
        count = try(walk, number, text, ret_row);
        if (!count)
            number = pattern_table_branch(walk->table, &walk->end);
    }
    if (!count)
        return 0;
    *ret_pattern = walk->table->patterns[number - 1];
    pattern_walk_note(walk, number);
    return count;
}
