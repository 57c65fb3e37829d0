// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"

#define MOST_PATTERNS ((size_t)1 << 15)
#define MOST_BYTES ((size_t)64 << 20)
#define HEADS ((size_t)1 << 13)
#define MOST_TRIES 8    // of patterns of one hash
#define MOST_DIGITS 18  // that fit 64 bits whatever they are
#define HASHED_FROM 40  // bytes of an event in which its name stands
#define HASHED_UNTIL 72 // where Kineto wrote it

void pattern_table_init(struct pattern_table *table)
{
    *table = (struct pattern_table){.count = 0};
    arena_init(&table->texts, MOST_BYTES);
}

void pattern_table_finish(struct pattern_table *table)
{
    arena_finish(&table->texts);
    free(table->patterns);
    free(table->heads);
}

static size_t hash_of(struct slice text)
{
    uint64_t hash = 0;
    if (text.count < HASHED_UNTIL)
        return 0;
    for (size_t at = HASHED_FROM; at < HASHED_UNTIL; at += 8)
        hash = (hash ^ bytes_get64(text.bytes + at)) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 40) & (HEADS - 1);
}

// Digits at hand as a number; how many there are.
static inline unsigned take_digits(const uint8_t *at, uint64_t *ret_value)
{
    uint64_t value = 0;
    unsigned count = 0;
    for (; at[count] >= '0' && at[count] <= '9' && count <= MOST_DIGITS; count++)
        value = value * 10 + (at[count] - (unsigned)'0');
    *ret_value = value;
    return count;
}

// Microseconds with at most three decimals, as ns.
static const uint8_t *take_time(const uint8_t *at, uint64_t *ret_ns)
{
    static const uint16_t scale[] = {1000, 100, 10, 1};
    uint64_t fraction = 0;
    unsigned places = 0;
    const unsigned count = take_digits(at, ret_ns);
    if (!count || count > MOST_DIGITS - 3)
        return NULL;
    at += count;
    if (*at == '.') {
        places = take_digits(at + 1, &fraction);
        if (!places || places > 3)
            return NULL;
        at += 1 + places;
    }
    *ret_ns = *ret_ns * 1000 + fraction * scale[places];
    return at;
}

static const uint8_t *take_number(const uint8_t *at, const struct pattern_hole *hole,
                                  uint64_t *ret_value)
{
    const bool is_negative = *at == '-';
    uint64_t fraction = 0;
    at += is_negative;
    const unsigned count = take_digits(at, ret_value);
    if (!count || count + hole->digits > MOST_DIGITS - 3) // the long way knows what to do
        return NULL;
    at += count;
    if (hole->kind == HOLE_DECIMAL) {
        if (*at != '.' || take_digits(at + 1, &fraction) != hole->digits)
            return NULL;
        for (unsigned i = 0; i < hole->digits; i++)
            *ret_value *= 10;
        *ret_value += fraction;
        at += 1 + hole->digits;
        if (!*ret_value) // -0.0 has a sign that no integer has
            return NULL;
    }
    if (*at == '.' || *at == 'e' || *at == 'E')
        return NULL;
    if (is_negative)
        *ret_value = -*ret_value;
    return at;
}

static const uint8_t *take_hole(const uint8_t *at, const struct pattern_hole *hole, struct row *row)
{
    uint64_t value = 0;
    const bool is_time = hole->kind == HOLE_START || hole->kind == HOLE_DURATION;
    at = is_time ? take_time(at, &value) : take_number(at, hole, &value);
    if (hole->kind == HOLE_START)
        row->start = (int64_t)value;
    else if (hole->kind == HOLE_DURATION)
        row->duration = value;
    else if (hole->kind == HOLE_ID)
        row->id = value;
    else
        row->form.values[hole->blank] = value;
    return at;
}

// Behind the text of an event that fits, or NULL. There are bytes enough behind `at`.
static const uint8_t *fit(const struct pattern *pattern, const uint8_t *at, struct row *row)
{
    const uint8_t *literal = pattern->text;
    uint32_t done = 0;
    for (uint32_t i = 0; i < pattern->hole_count; i++) {
        const struct pattern_hole *hole = &pattern->holes[i];
        const size_t count = hole->at - done;
        if (memcmp(at, literal, count) != 0)
            return NULL;
        literal += count;
        at = take_hole(at + count, hole, row);
        if (!at)
            return NULL;
        done = hole->at + hole->bytes;
    }
    const size_t rest = pattern->bytes - done;
    return memcmp(at, literal, rest) == 0 ? at + rest : NULL;
}

static size_t try(struct pattern_table *table, uint32_t number, struct slice text,
                  struct row *ret_row)
{
    const struct pattern *pattern = &table->patterns[number - 1];
    // each hole may be longer than it was
    if (text.count < pattern->bytes + (size_t)pattern->hole_count * (MOST_DIGITS + 4))
        return 0;
    *ret_row = pattern->row;
    const uint8_t *end = fit(pattern, text.bytes, ret_row);
    return end ? (size_t)(end - text.bytes) : 0;
}

// Notes that `number` came behind the last one.
static void follow(struct pattern_table *table, uint32_t number)
{
    if (table->last) {
        struct pattern *last = &table->patterns[table->last - 1];
        if (last->next[0] != number) {
            last->next[1] = last->next[0];
            last->next[0] = number;
        }
    }
    table->last = number;
}

static size_t found(struct pattern_table *table, uint32_t number, size_t count,
                    const struct pattern **ret_pattern)
{
    *ret_pattern = &table->patterns[number - 1];
    follow(table, number);
    return count;
}

size_t pattern_table_match(struct pattern_table *table, struct slice text,
                           const struct pattern **ret_pattern, struct row *ret_row)
{
    if (!table->heads)
        return 0;
    for (unsigned i = 0; table->last && i < PATTERN_FOLLOWERS; i++) {
        const uint32_t number = table->patterns[table->last - 1].next[i];
        const size_t count = number ? try(table, number, text, ret_row) : 0;
        if (count)
            return found(table, number, count, ret_pattern);
    }
    uint32_t number = table->heads[hash_of(text)];
    for (unsigned tries = 0; number && tries < MOST_TRIES; tries++) {
        const size_t count = try(table, number, text, ret_row);
        if (count)
            return found(table, number, count, ret_pattern);
        number = table->patterns[number - 1].same;
    }
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct pattern_hole *a = left, *b = right;
    return a->at < b->at ? -1 : a->at > b->at;
}

// The text without its holes.
static const uint8_t *keep_literal(struct pattern_table *table, struct slice text,
                                   const struct pattern *pattern)
{
    uint8_t *const kept = arena_take(&table->texts, text.count);
    uint8_t *put = kept;
    size_t done = 0;
    for (uint32_t i = 0; kept && i < pattern->hole_count; i++) {
        const struct pattern_hole *hole = &pattern->holes[i];
        memcpy(put, text.bytes + done, hole->at - done);
        put += hole->at - done;
        done = (size_t)hole->at + hole->bytes;
    }
    if (kept)
        memcpy(put, text.bytes + done, text.count - done);
    return kept;
}

void pattern_table_learn(struct pattern_table *table, struct slice text, struct pattern *pattern)
{
    const struct array_shape shape = {sizeof *table->patterns, MOST_PATTERNS};
    if (!table->heads)
        table->heads = calloc(HEADS, sizeof *table->heads); // without them nothing is learnt
    if (!table->heads || table->count == MOST_PATTERNS || text.count > UINT32_MAX ||
        array_reserve((void **)&table->patterns, &table->room, table->count + 1, shape)) {
        pattern_table_lose(table);
        return;
    }
    qsort(pattern->holes, pattern->hole_count, sizeof *pattern->holes, compare);
    pattern->bytes = (uint32_t)text.count;
    pattern->text = keep_literal(table, text, pattern);
    if (!pattern->text) {
        fail_clear();
        pattern_table_lose(table);
        return;
    }
    uint32_t *head = &table->heads[hash_of(text)];
    pattern->same = *head;
    table->patterns[table->count] = *pattern;
    *head = (uint32_t)++table->count;
    follow(table, *head);
}
