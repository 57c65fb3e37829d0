// SPDX-License-Identifier: Apache-2.0
// Each backward op votes for the threads on which a forward op had its sequence
// number: threads count for themselves, so a few numbers may be on several.
#include "analyse/ops/op_threads.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/ops/tuple_map.h"
#include "base/array.h"

#define MOST_PAIRS (1u << 20)

struct op_threads {
    struct tuple_map forwards; // sequence number and thread
    struct tuple_map threads;
    struct tuple_map numbers; // torch's
    struct tuple_map pairs;   // torch's number and thread
    uint32_t *votes, *best;   // by pair; by number, a pair + 1
    size_t vote_room, best_room;
};

static bool is_backward(const struct gait_op *op)
{
    return op->flags & GAIT_OP_BACKWARD && op->fwd_thread > 0 && op->seq >= 0;
}

static int learn_forwards(struct op_threads *look, const struct gait_op *ops, size_t count)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const uint64_t pair[2] = {(uint64_t)ops[i].seq, (uint64_t)ops[i].thread};
        uint32_t index;
        if (ops[i].flags & GAIT_OP_BACKWARD || ops[i].seq < 0)
            continue;
        status = tuple_map_add(&look->threads, &pair[1], &index);
        if (!status)
            status = tuple_map_add(&look->forwards, pair, &index);
    }
    return status;
}

static int vote(struct op_threads *look, uint64_t number, uint64_t thread)
{
    const uint64_t pair[2] = {number, thread};
    const size_t known_numbers = look->numbers.count, known_pairs = look->pairs.count;
    uint32_t place, index;
    int status = tuple_map_add(&look->numbers, &number, &place);
    if (!status)
        status = tuple_map_add(&look->pairs, pair, &index);
    if (!status)
        status = ARRAY_RESERVE(look->best, look->best_room, (size_t)place + 1, MOST_PAIRS);
    if (!status)
        status = ARRAY_RESERVE(look->votes, look->vote_room, (size_t)index + 1, MOST_PAIRS);
    if (status)
        return status;
    if (place == known_numbers)
        look->best[place] = 0;
    if (index == known_pairs)
        look->votes[index] = 0;
    const uint32_t best = look->best[place];
    look->votes[index]++;
    if (!best || look->votes[index] > look->votes[best - 1])
        look->best[place] = index + 1;
    return GAIT_OK;
}

static int count_votes(struct op_threads *look, const struct gait_op *ops, size_t count)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < count; i++) {
        if (!is_backward(&ops[i]))
            continue;
        for (size_t at = 0; at < look->threads.count && !status; at++) {
            const uint64_t pair[2] = {(uint64_t)ops[i].seq, look->threads.tuples[at]};
            if (tuple_map_find(&look->forwards, pair) != TUPLE_NONE)
                status = vote(look, (uint64_t)ops[i].fwd_thread, pair[1]);
        }
    }
    return status;
}

static void tell(const struct op_threads *look, struct gait_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = (uint64_t)ops[i].fwd_thread;
        const uint32_t place =
            is_backward(&ops[i]) ? tuple_map_find(&look->numbers, &number) : TUPLE_NONE;
        if (place != TUPLE_NONE)
            ops[i].fwd_thread = (int64_t)look->pairs.tuples[2 * (look->best[place] - 1) + 1];
    }
}

int op_threads_match(struct gait_op *ops, size_t count)
{
    struct op_threads look = {.votes = NULL};
    tuple_map_init(&look.forwards, 2);
    tuple_map_init(&look.threads, 1);
    tuple_map_init(&look.numbers, 1);
    tuple_map_init(&look.pairs, 2);
    int status = learn_forwards(&look, ops, count);
    if (!status)
        status = count_votes(&look, ops, count);
    if (!status)
        tell(&look, ops, count);
    tuple_map_finish(&look.forwards);
    tuple_map_finish(&look.threads);
    tuple_map_finish(&look.numbers);
    tuple_map_finish(&look.pairs);
    free(look.votes);
    free(look.best);
    return status;
}
