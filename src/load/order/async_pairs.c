// SPDX-License-Identifier: Apache-2.0
// Where asynchronous spans end. Ends close like brackets, the latest begin
// first; therefore a window may be resolved without what lies before it: an end
// that finds no begin in the window belongs to an earlier one. Most traces fit
// one window; in others every window looks on only until its last begin ended.
#include "load/order/async_pairs.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/index/hash_index.h"
#include "base/invariant.h"

#define WINDOW_BEGINS (1u << 20) // 24 MiB, and as much again for their keys
#define FIRST_KEYS 1024u
#define NONE UINT32_MAX

struct async_begin {
    int64_t start_ns, end_ns; // end: INT64_MIN while there is none
    uint32_t outer;           // the begin of the same key before it, or NONE
};

struct async_key {
    const struct run_shard *shard;
    uint64_t site, id;
    uint32_t latest; // of the window's begins still open, or NONE
    uint32_t nested; // begins behind the window that are open
};

static uint32_t hash_key(const struct async_key *key)
{
    return (uint32_t)hash_mix(hash_mix((uintptr_t)key->shard, key->site), key->id);
}

static bool is_same_key(const struct async_key *a, const struct async_key *b)
{
    return a->shard == b->shard && a->site == b->site && a->id == b->id;
}

// The place of the key, or the free one where it belongs.
static size_t place_of(const struct async_pairs *pairs, const struct async_key *key)
{
    const struct hash_index *index = &pairs->key_index;
    size_t at = hash_index_first(index, hash_key(key));
    while (index->places[at].row && !is_same_key(&pairs->keys[index->places[at].row - 1], key))
        at = hash_index_next(index, at);
    return at;
}

// NULL: none of the window's begins has it.
static struct async_key *find_key(const struct async_pairs *pairs, const struct async_key *key)
{
    const uint32_t row = pairs->key_count ? pairs->key_index.places[place_of(pairs, key)].row : 0;
    return row ? &pairs->keys[row - 1] : NULL;
}

static int add_key(struct async_pairs *pairs, const struct async_key *key)
{
    int status = hash_index_reserve(&pairs->key_index, FIRST_KEYS);
    if (!status)
        status = ARRAY_RESERVE(pairs->keys, pairs->key_room, pairs->key_count + 1, UINT32_MAX);
    if (status)
        return status;
    hash_index_put(&pairs->key_index, place_of(pairs, key), hash_key(key),
                   (uint32_t)pairs->key_count);
    pairs->keys[pairs->key_count++] = *key;
    return GAIT_OK;
}

static struct async_key key_of(const struct merge_row *row)
{
    return (struct async_key){.shard = row->shard,
                              .site = row->frame->numbers[ROLE_SITE][row->row],
                              .id = row->frame->numbers[ROLE_ID][row->row],
                              .latest = NONE};
}

static bool is_begin(const struct merge_row *row)
{
    return row->frame->numbers[ROLE_PHASE][row->row] == 0;
}

static int take_begin(struct async_pairs *pairs, const struct merge_row *row)
{
    struct async_key wanted = key_of(row);
    int status = ARRAY_RESERVE(pairs->window, pairs->begin_capacity, pairs->begin_count + 1,
                               pairs->begin_limit);

    if (!status && !find_key(pairs, &wanted))
        status = add_key(pairs, &wanted);
    if (status)
        return status;
    struct async_key *key = find_key(pairs, &wanted);
    GAIT_ASSERT(pairs->begin_count < pairs->begin_capacity);
    pairs->window[pairs->begin_count] = (struct async_begin){
        .start_ns = row->frame->start_ns[row->row], .end_ns = INT64_MIN, .outer = key->latest};
    key->latest = (uint32_t)pairs->begin_count++;
    pairs->pending++;
    return 0;
}

static void take_end(struct async_pairs *pairs, const struct merge_row *row)
{
    struct async_key wanted = key_of(row);
    struct async_key *key = find_key(pairs, &wanted);

    if (!key)
        return;
    if (key->nested) {
        key->nested--;
        return;
    }
    if (key->latest == NONE)
        return;
    GAIT_ASSERT(key->latest < pairs->begin_count && pairs->pending > 0);
    struct async_begin *begin = &pairs->window[key->latest];
    begin->end_ns = row->frame->start_ns[row->row];
    GAIT_ASSERT(begin->outer == NONE || begin->outer < key->latest); // an outer one began before
    key->latest = begin->outer;
    pairs->pending--;
}

// Takes rows until the window is full or the run ends.
static int fill_window(struct async_pairs *pairs)
{
    struct merge_row row;
    int got = 1;

    pairs->begin_count = pairs->next = pairs->key_count = pairs->pending = 0;
    hash_index_clear(&pairs->key_index);
    while (pairs->begin_count < pairs->begin_limit) {
        int status = 0;

        got = merge_next(&pairs->ahead, &row);
        if (got != 1)
            break;
        if (is_begin(&row))
            status = take_begin(pairs, &row);
        else
            take_end(pairs, &row);
        if (status)
            return status;
    }
    pairs->has_ended = got == 0;
    return got < 0 ? got : 0;
}

// Looks behind the window for the ends that are still missing.
static int look_ahead(struct async_pairs *pairs)
{
    struct merge further;
    struct merge_row row;
    int got = merge_open_at(&further, &pairs->ahead);

    if (got)
        return got;
    while (pairs->pending && (got = merge_next(&further, &row)) == 1) {
        struct async_key wanted = key_of(&row);
        struct async_key *key = find_key(pairs, &wanted);

        if (!is_begin(&row))
            take_end(pairs, &row);
        else if (key && key->latest != NONE)
            key->nested++;
    }
    merge_close(&further);
    return got < 0 ? got : 0;
}

int async_pairs_open(struct async_pairs *pairs, struct run *run, const uint8_t *shards)
{
    struct merge_choice choice = {.kinds = 1u << GAIT_KIND_ASYNC, .shards = shards};

    *pairs =
        (struct async_pairs){.begin_limit = run->async_begins ? run->async_begins : WINDOW_BEGINS};
    int status = merge_open(&pairs->ahead, run, &choice);
    pairs->is_open = !status;
    return status;
}

void async_pairs_close(struct async_pairs *pairs)
{
    if (!pairs)
        return;
    if (pairs->is_open)
        merge_close(&pairs->ahead);
    free(pairs->window);
    free(pairs->keys);
    hash_index_finish(&pairs->key_index);
    *pairs = (struct async_pairs){0};
}

int async_pairs_next(struct async_pairs *pairs, int64_t start_ns, int64_t *ret_end_ns)
{
    int status = 0;

    *ret_end_ns = INT64_MIN;
    if (pairs->next == pairs->begin_count && !pairs->has_ended) {
        status = fill_window(pairs);
        if (!status && pairs->pending && !pairs->has_ended)
            status = look_ahead(pairs);
    }
    if (status || pairs->next == pairs->begin_count)
        return status;
    const struct async_begin *begin = &pairs->window[pairs->next++];
    if (begin->start_ns == start_ns) // else the file changed between two reads
        *ret_end_ns = begin->end_ns;
    return 0;
}
