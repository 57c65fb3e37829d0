// SPDX-License-Identifier: Apache-2.0
// With NCCL the kernels that carry a collective's external id belong to it, too.
#include "analyse/compat/tb_peers.h"

#include <stdlib.h>

#include "base/fail.h"

static int by_start(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

// The ranges of each collective, in order.
static int take_ranges(struct intervals *ranges, const struct tb_rank *rank)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < rank->collective_count && !status; i++)
        status = intervals_add(&ranges[i], rank->collectives[i].row->start_ns,
                               rank->collectives[i].row->end_ns);
    for (size_t i = 0; rank->has_nccl && i < rank->foreign->count && !status; i++) {
        const struct foreign_row *row = &rank->foreign->rows[i];
        const struct tb_collective *mine =
            tb_type_of(row) == TB_KERNEL ? tb_collective_of(rank, row) : NULL;
        if (mine)
            status = intervals_add(&ranges[mine - rank->collectives], row->start_ns, row->end_ns);
    }
    for (size_t i = 0; i < rank->collective_count; i++)
        if (ranges[i].count)
            qsort(ranges[i].rows, ranges[i].count, sizeof *ranges[i].rows, by_start);
    return status;
}

static bool match(struct intervals *const *ranges, const struct tb_rank *ranks, size_t count)
{
    for (size_t rank = 1; rank < count; rank++)
        for (size_t i = 0; i < ranks[0].collective_count; i++)
            if (ranges[rank][i].count != ranges[0][i].count)
                return false;
    return true;
}

static int64_t shortest_of(struct intervals *const *ranges, size_t count, size_t i, size_t at)
{
    int64_t shortest = INT64_MAX;
    for (size_t rank = 0; rank < count; rank++) {
        const struct interval *row = &ranges[rank][i].rows[at];
        shortest = row->end_ns - row->start_ns < shortest ? row->end_ns - row->start_ns : shortest;
    }
    return shortest;
}

// Of the collectives of one step.
static int add_wait(struct tb_peer *peer, struct intervals *const *ranges, size_t which,
                    size_t count, size_t step)
{
    struct intervals all = {.count = 0}, transfer = {.count = 0};
    bool is_there = false;
    int status = GAIT_OK;
    for (size_t i = 0; i < peer->rank->collective_count && !status; i++) {
        if (peer->rank->collectives[i].step != step)
            continue;
        is_there = true;
        for (size_t at = 0; at < ranges[which][i].count && !status; at++) {
            const struct interval row = ranges[which][i].rows[at];
            status = intervals_add(&all, row.start_ns, row.end_ns);
            if (!status)
                status = intervals_add(&transfer, row.end_ns - shortest_of(ranges, count, i, at),
                                       row.end_ns);
        }
    }
    intervals_join(&all);
    intervals_join(&transfer);
    if (is_there && !status)
        peer->waits[peer->count++] =
            (struct tb_wait){step, intervals_total(&all), intervals_total(&transfer)};
    intervals_finish(&all);
    intervals_finish(&transfer);
    return status;
}

static int compare(struct tb_peers *peers, struct intervals *const *ranges,
                   const struct tb_rank *ranks, size_t count)
{
    int status = GAIT_OK;
    if (!match(ranges, ranks, count))
        return GAIT_OK;
    peers->peers = calloc(count + 1, sizeof *peers->peers);
    if (!peers->peers)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", count);
    for (size_t i = 0; i < count && !status; i++) {
        struct tb_peer *peer = &peers->peers[peers->count++];
        peer->rank = &ranks[i];
        peer->waits = calloc(ranks[i].step_count + 2, sizeof *peer->waits);
        if (!peer->waits)
            return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", ranks[i].step_count);
        for (size_t step = 0; step < ranks[i].step_count && !status; step++)
            status = add_wait(peer, ranges, i, count, step);
        if (!status)
            status = add_wait(peer, ranges, i, count, TB_NO_STEP);
    }
    return status;
}

static bool is_comparable(const struct tb_rank *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ranks[i].collective_count || (ranks[i].has_nccl && ranks[i].has_gloo) ||
            ranks[i].collective_count != ranks[0].collective_count)
            return false;
    return count > 0;
}

int tb_peers_make(struct tb_peers *peers, const struct tb_rank *ranks, size_t count)
{
    struct intervals **ranges = calloc(count + 1, sizeof *ranges);
    int status = ranges ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", count);
    *peers = (struct tb_peers){.count = 0};
    if (!status && !is_comparable(ranks, count))
        count = 0;
    for (size_t i = 0; i < count && !status; i++) {
        ranges[i] = calloc(ranks[i].collective_count + 1, sizeof **ranges);
        status = ranges[i] ? take_ranges(ranges[i], &ranks[i])
                           : fail(GAIT_ERR_MEMORY, "no memory for the collectives");
    }
    if (!status && count)
        status = compare(peers, ranges, ranks, count);
    for (size_t i = 0; ranges && i < count; i++) {
        for (size_t at = 0; ranges[i] && at < ranks[i].collective_count; at++)
            intervals_finish(&ranges[i][at]);
        free(ranges[i]);
    }
    free(ranges);
    if (status)
        tb_peers_finish(peers);
    return status;
}

void tb_peers_finish(struct tb_peers *peers)
{
    for (size_t i = 0; i < peers->count; i++)
        free(peers->peers[i].waits);
    free(peers->peers);
    *peers = (struct tb_peers){.peers = NULL};
}
