// SPDX-License-Identifier: Apache-2.0
#include "ingest/pattern/chrome_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "ingest/pattern/pattern_fit.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION // small inputs reach the ends of small tables
#define MOST_PATTERNS ((size_t)1 << 6)
#else
#define MOST_PATTERNS ((size_t)1 << 15)
#endif
#define MOST_BYTES ((size_t)64 << 20)
#define MOST_TEXT ((size_t)1 << 16) // of one event
#define HEADS ((size_t)1 << 10)
#define BRANCHES (2 * MOST_PATTERNS) // at most half of them are taken
#define HASHED_FROM 8                // to where Kineto has written phase and category
#define HASHED_UNTIL 32

void pattern_table_init(struct pattern_table *table)
{
    *table = (struct pattern_table){.fit = pattern_fit_best()->fit};
    arena_init(&table->kept, MOST_BYTES);
    table->patterns = calloc(MOST_PATTERNS, sizeof *table->patterns);
    table->heads = calloc(HEADS, sizeof *table->heads);
    table->branches = calloc(BRANCHES, sizeof *table->branches);
    if (table->heads && table->branches)
        return;
    free(table->patterns);
    table->patterns = NULL;
}

void pattern_table_finish(struct pattern_table *table)
{
    arena_finish(&table->kept);
    free(table->patterns);
    free(table->heads);
    free(table->branches);
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

uint32_t pattern_table_first(const struct pattern_table *table, struct slice text)
{
    return table->patterns ? __atomic_load_n(&table->heads[hash_of(text)], __ATOMIC_ACQUIRE) : 0;
}

// The branch from where a search ended, or the free place where it belongs.
static struct pattern_branch *find_branch(const struct pattern_table *table,
                                          const struct pattern_branch *end, uint32_t *ret_to)
{
    const uint32_t mixed =
        (end->from * 0x9E3779B1u ^ end->miss.at * 0x85EBCA6Bu ^ end->miss.byte) * 0xC2B2AE35u;
    for (size_t at = mixed >> 8;; at++) {
        struct pattern_branch *branch = &table->branches[at & (BRANCHES - 1)];
        // the rest of it was there before `to`
        *ret_to = __atomic_load_n(&branch->to, __ATOMIC_ACQUIRE);
        if (!*ret_to || (branch->from == end->from && branch->miss.at == end->miss.at &&
                         branch->miss.byte == end->miss.byte))
            return branch;
    }
}

uint32_t pattern_table_branch(const struct pattern_table *table, const struct pattern_branch *end)
{
    uint32_t to = 0;
    if (end->from)
        (void)find_branch(table, end, &to);
    return to;
}

ARRAY_BY1(compare, struct draft_hole, at)

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

uint32_t pattern_table_learn(struct pattern_table *table, struct pattern_draft *draft,
                             const struct pattern_branch *end)
{
    if (!table->patterns || table->count == MOST_PATTERNS || draft->text.count > MOST_TEXT)
        return 0;
    uint32_t *head = &table->heads[hash_of(draft->text)];
    if (*head && !end->from) // it could not be looked for, so it would not be found
        return 0;
    qsort(draft->holes, draft->hole_count, sizeof *draft->holes, compare);
    struct pattern *kept = keep(table, draft);
    if (!kept) {
        fail_clear();
        return 0;
    }
    const uint32_t number = table->count + 1;
    table->patterns[table->count++] = kept;
    if (!*head) {
        __atomic_store_n(head, number, __ATOMIC_RELEASE);
        return number;
    }
    uint32_t to;
    struct pattern_branch *branch = find_branch(table, end, &to);
    branch->from = end->from;
    branch->miss = end->miss;
    __atomic_store_n(&branch->to, number, __ATOMIC_RELEASE);
    return number;
}
