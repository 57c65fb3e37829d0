// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "ingest/pattern_fit.h"

#define MOST_PATTERNS ((size_t)1 << 15)
#define MOST_BYTES ((size_t)64 << 20)
#define HEADS ((size_t)1 << 10)
#define MOST_TEXT ((size_t)1 << 16) // of one event
#define GUESSES ((size_t)1 << 17)
#define CACHE_LINE 64
#define FETCHED 512   // bytes of a pattern that are fetched ahead
#define HASHED_FROM 8 // to where Kineto has written phase and category
#define HASHED_UNTIL 32

void pattern_table_init(struct pattern_table *table)
{
    *table = (struct pattern_table){.fit = pattern_fit_best()->fit};
    arena_init(&table->kept, MOST_BYTES);
}

void pattern_table_finish(struct pattern_table *table)
{
    arena_finish(&table->kept);
    free(table->patterns);
    free(table->heads);
    free(table->branches);
    hash_index_finish(&table->branch_index);
}

// Of what an event begins with, but for its digits: an id may stand there.
static size_t hash_of(struct slice text)
{
    static const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t hash = 0;
    if (text.count < HASHED_UNTIL)
        return 0;
    for (size_t at = HASHED_FROM; at < HASHED_UNTIL; at += 8) {
        const uint64_t bytes = bytes_get64(text.bytes + at);
        const uint64_t digits = bytes ^ UINT64_C(0x3030303030303030);
        const uint64_t is_digit = ~((digits + UINT64_C(0x7676767676767676)) | digits) & high;
        hash = (hash ^ (bytes & ~((is_digit >> 7) * 0xff))) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return (size_t)(hash >> 40) & (HEADS - 1);
}

static size_t try(struct pattern_table *table, uint32_t number, struct slice text,
                  struct row *ret_row)
{
    table->end = (struct pattern_branch){.from = 0};
    const struct pattern *pattern = table->patterns[number - 1];
    // each hole may be longer than it was
    if (text.count < pattern->bytes + (size_t)pattern->hole_count * FIT_MOST_HOLE + FIT_BEHIND)
        return 0;
    *ret_row = pattern->row;
    const uint8_t *end = table->fit(pattern, text.bytes, ret_row, &table->end.miss);
    table->end.from = number;
    return end ? (size_t)(end - text.bytes) : 0;
}

// What is likely to be asked for next is fetched while the event at hand is put away.
static void fetch(const struct pattern *pattern, size_t from, size_t count)
{
    for (size_t at = from; at < from + count; at += CACHE_LINE)
        __builtin_prefetch((const uint8_t *)pattern + at);
}

// The path with one more pattern at its end. What is a few steps back fades out of it.
static uint32_t go_on(uint32_t path, uint32_t number)
{
    return (path << 6 ^ number * 0x9E3779B1u >> 8) & (GUESSES - 1);
}

static void fetch_ahead(const struct pattern_table *table)
{
    const uint32_t next = table->guesses[table->path];
    const uint32_t after = next ? table->guesses[go_on(table->path, next)] : 0;
    if (!after)
        return;
    const struct pattern *pattern = table->patterns[after - 1];
    fetch(pattern, 0, FETCHED);
}

// Notes that `number` came behind the ones before.
static void follow(struct pattern_table *table, uint32_t number)
{
    if (table->last)
        table->patterns[table->last - 1]->next = number;
    table->guesses[table->path] = number;
    table->path = go_on(table->path, number);
    table->last = number;
}

static size_t found(struct pattern_table *table, uint32_t number, size_t count,
                    const struct pattern **ret_pattern)
{
    *ret_pattern = table->patterns[number - 1];
    follow(table, number);
    fetch_ahead(table);
    return count;
}

static uint32_t hash_of_end(const struct pattern_branch *end)
{
    return (end->from * 0x9E3779B1u ^ end->miss.at * 0x85EBCA6Bu ^ end->miss.byte) * 0xC2B2AE35u;
}

// The pattern to try where the last one did not fit, or 0.
static uint32_t branch_at_end(const struct pattern_table *table)
{
    const struct pattern_branch *end = &table->end;
    if (!table->branch_index.room)
        return 0;
    size_t at = hash_index_first(&table->branch_index, hash_of_end(end));
    for (; table->branch_index.places[at].row; at = hash_index_next(&table->branch_index, at)) {
        const struct pattern_branch *branch =
            &table->branches[table->branch_index.places[at].row - 1];
        if (branch->from == end->from && branch->miss.at == end->miss.at &&
            branch->miss.byte == end->miss.byte)
            return branch->to;
    }
    return 0;
}

// Lets the pattern be found where the search for it ended; false: it cannot be.
static bool put_branch(struct pattern_table *table, struct slice text, uint32_t number)
{
    const struct array_shape shape = {sizeof *table->branches, MOST_PATTERNS};
    uint32_t *head = &table->heads[hash_of(text)];
    if (!*head) {
        *head = number;
        return true;
    }
    const size_t count = table->branch_index.count;
    if (!table->end.from || hash_index_reserve(&table->branch_index, HEADS) ||
        array_reserve((void **)&table->branches, &table->branch_room, count + 1, shape))
        return false;
    const uint32_t hash = hash_of_end(&table->end);
    size_t at = hash_index_first(&table->branch_index, hash);
    while (table->branch_index.places[at].row)
        at = hash_index_next(&table->branch_index, at);
    hash_index_put(&table->branch_index, at, hash, (uint32_t)count);
    table->branches[count] = table->end;
    table->branches[count].to = number;
    return true;
}

size_t pattern_table_match(struct pattern_table *table, struct slice text,
                           const struct pattern **ret_pattern, struct row *ret_row)
{
    if (!table->heads)
        return 0;
    const uint32_t guess = table->guesses[table->path];
    const uint32_t next = table->last ? table->patterns[table->last - 1]->next : 0;
    size_t count = guess ? try(table, guess, text, ret_row) : 0;
    if (count)
        return found(table, guess, count, ret_pattern);
    count = next && next != guess ? try(table, next, text, ret_row) : 0;
    if (count)
        return found(table, next, count, ret_pattern);
    table->end = (struct pattern_branch){.from = 0};
    for (uint32_t number = table->heads[hash_of(text)]; number;) {
        count = try(table, number, text, ret_row);
        if (count)
            return found(table, number, count, ret_pattern);
        number = table->end.from ? branch_at_end(table) : 0;
    }
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct draft_hole *a = left, *b = right;
    return a->at < b->at ? -1 : a->at > b->at;
}

// The draft as a pattern: its text without the holes. NULL where there is no memory.
static struct pattern *keep(struct pattern_table *table, const struct pattern_draft *draft)
{
    const struct slice text = draft->text;
    struct pattern *kept =
        arena_take(&table->kept, sizeof *kept + draft->hole_count * sizeof *kept->holes +
                                     text.count + FIT_BEHIND);
    if (!kept)
        return NULL;
    *kept = (struct pattern){.bytes = (uint32_t)text.count,
                             .hole_count = draft->hole_count,
                             .text_ids = draft->text_ids,
                             .place = draft->place,
                             .row = draft->row};
    uint8_t *put = (uint8_t *)(kept->holes + kept->hole_count);
    size_t done = 0;
    for (unsigned i = 0; i < draft->hole_count; i++) {
        const struct draft_hole *hole = &draft->holes[i];
        kept->holes[i] = (struct pattern_hole){.literal = (uint32_t)(hole->at - done),
                                               .kind = hole->kind,
                                               .blank = hole->blank,
                                               .digits = hole->digits};
        memcpy(put, text.bytes + done, hole->at - done);
        put += hole->at - done;
        done = (size_t)hole->at + hole->bytes;
    }
    kept->rest = (uint32_t)(text.count - done);
    memcpy(put, text.bytes + done, text.count - done);
    memset(put + kept->rest, 0, FIT_BEHIND);
    return kept;
}

void pattern_table_learn(struct pattern_table *table, struct pattern_draft *draft)
{
    const struct array_shape shape = {sizeof *table->patterns, MOST_PATTERNS};
    struct pattern *kept = NULL;
    if (!table->heads) { // without them nothing is learnt
        table->heads = calloc(HEADS + GUESSES, sizeof *table->heads);
        table->guesses = table->heads ? table->heads + HEADS : NULL;
    }
    qsort(draft->holes, draft->hole_count, sizeof *draft->holes, compare);
    if (table->heads && draft->text.count <= MOST_TEXT && table->count < MOST_PATTERNS &&
        !array_reserve((void **)&table->patterns, &table->room, table->count + 1, shape))
        kept = keep(table, draft);
    if (!kept || !put_branch(table, draft->text, (uint32_t)table->count + 1)) {
        fail_clear();
        pattern_table_lose(table);
        return;
    }
    table->patterns[table->count] = kept;
    follow(table, (uint32_t)++table->count);
}
