// SPDX-License-Identifier: Apache-2.0
#include "facts/lod_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "facts/facts_file.h"
#include "facts/lod_pack.h"

enum { MOST_ROWS = 1 << 27, MOST_GROUPS = 1 << 20, MOST_PACKED = 1 << 30 };

void lod_store_init(struct lod_store *store, unsigned level, uint64_t row_spans)
{
    *store = (struct lod_store){.level = level, .row_spans = row_spans};
    buffer_init(&store->packed, MOST_PACKED);
}

void lod_store_finish(struct lod_store *store)
{
    buffer_finish(&store->packed);
    free(store->rows);
    free(store->groups);
    free(store->room);
    free(store->ends);
}

int lod_store_add(struct lod_store *store, const struct lod_row *row)
{
    return ARRAY_ADD(store->rows, store->count, store->capacity, MOST_ROWS, row);
}

// --- groups ----------------------------------------------------------------------------

// What waits longer stays in front; what is due goes behind `room`.
static size_t part_due(struct lod_store *store, int64_t until_ns)
{
    const unsigned unit = lod_unit_bits(store->level);
    const int64_t until_bin = until_ns >> store->level;
    const bool is_last = until_ns == INT64_MAX;
    size_t kept = 0, due = 0;
    for (size_t i = 0; i < store->count; i++) {
        const int64_t bin = store->rows[i].start >> (store->level - unit);
        if (is_last || bin < until_bin)
            store->room[due++] = store->rows[i];
        else
            store->rows[kept++] = store->rows[i];
    }
    store->count = kept;
    return due;
}

static int64_t ns_of(uint64_t units, unsigned bits)
{
    return units > (uint64_t)INT64_MAX >> bits ? INT64_MAX : (int64_t)(units << bits);
}

// Ends are beyond INT64_MAX only for times that nobody measured.
static int64_t end_ns_of(const struct lod_row *row, unsigned bits)
{
    int64_t end;
    if (row->length > INT64_MAX || __builtin_add_overflow(row->start, (int64_t)row->length, &end))
        return INT64_MAX;
    return end < 0 ? end * (INT64_C(1) << bits) : ns_of((uint64_t)end, bits);
}

static struct lod_group sum_up(const struct lod_store *store, const struct lod_row *rows,
                               size_t count)
{
    const unsigned bits = lod_unit_bits(store->level), unit = store->level - bits;
    struct lod_group group = {.level = store->level,
                              .since_ns = INT64_MAX,
                              .until_ns = INT64_MIN,
                              .reach_ns = INT64_MIN,
                              .rows = count};
    for (size_t i = 0; i < count; i++) {
        const int64_t bin = rows[i].start >> unit, end_ns = end_ns_of(&rows[i], bits);
        const int64_t since_ns = bin * (INT64_C(1) << store->level);
        int64_t until_ns;
        if (__builtin_add_overflow(since_ns, INT64_C(1) << store->level, &until_ns))
            until_ns = INT64_MAX;
        group.since_ns = since_ns < group.since_ns ? since_ns : group.since_ns;
        group.until_ns = until_ns > group.until_ns ? until_ns : group.until_ns;
        group.reach_ns = end_ns > group.reach_ns ? end_ns : group.reach_ns;
        group.spans += rows[i].count;
    }
    group.is_kept = group.spans / group.rows >= store->row_spans;
    return group;
}

// By lane; rows of a lane stay in order. Counting takes a tenth of what sorting takes.
static int put_in_order(struct lod_store *store, struct lod_row *to, size_t count, uint32_t lanes)
{
    int status = ARRAY_RESERVE(store->ends, store->end_capacity, (size_t)lanes + 1, MOST_ROWS);
    if (status)
        return status;
    memset(store->ends, 0, ((size_t)lanes + 1) * sizeof *store->ends);
    for (size_t i = 0; i < count; i++)
        store->ends[store->room[i].lane + 1]++;
    for (uint32_t lane = 0; lane < lanes; lane++)
        store->ends[lane + 1] += store->ends[lane];
    for (size_t i = 0; i < count; i++)
        to[store->ends[store->room[i].lane]++] = store->room[i];
    return GAIT_OK;
}

static int keep(struct lod_store *store, size_t count, uint32_t lanes)
{
    const size_t waiting = store->count;
    int status = ARRAY_RESERVE(store->rows, store->capacity, waiting + count, MOST_ROWS);
    if (!status)
        status = put_in_order(store, store->rows + waiting, count, lanes);
    return status ? status : lod_pack(&store->packed, store->rows + waiting, count);
}

// Of a level that is left out for long there is one group.
static int add_group(struct lod_store *store, const struct lod_group *group)
{
    struct lod_group *last = store->group_count ? &store->groups[store->group_count - 1] : NULL;
    if (!last || last->is_kept || group->is_kept)
        return ARRAY_ADD(store->groups, store->group_count, store->group_capacity, MOST_GROUPS,
                         group);
    last->until_ns = group->until_ns;
    last->reach_ns = group->reach_ns > last->reach_ns ? group->reach_ns : last->reach_ns;
    last->rows += group->rows;
    last->spans += group->spans;
    return GAIT_OK;
}

int lod_store_settle(struct lod_store *store, int64_t until_ns, uint32_t lanes)
{
    int status = ARRAY_RESERVE(store->room, store->room_capacity, store->count + 1, MOST_ROWS);
    if (status)
        return status;
    const size_t due = part_due(store, until_ns);
    if (!due)
        return GAIT_OK;
    const struct lod_group group = sum_up(store, store->room, due);
    status = add_group(store, &group);
    return status || !group.is_kept ? status : keep(store, due, lanes);
}

// --- the file --------------------------------------------------------------------------

int lod_store_save(const struct lod_store *store, struct facts_file *file)
{
    struct lod_row *rows = NULL;
    size_t capacity = 0, at = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < store->group_count && !status; i++) {
        const struct lod_group *group = &store->groups[i];
        if (!group->is_kept)
            continue;
        status = ARRAY_RESERVE(rows, capacity, group->rows, MOST_ROWS);
        if (status)
            break;
        at = lod_unpack(&store->packed, at, rows, group->rows);
        status = facts_file_put(file, &lod_row_list, rows, group->rows);
    }
    free(rows);
    return status;
}
