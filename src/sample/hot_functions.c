// SPDX-License-Identifier: Apache-2.0
// A function that calls itself counts once a stack.
#include "sample/hot_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LIMIT ((size_t)1 << 24)

static int make_room(struct hot_functions *hot, const struct stack_trie *trie)
{
    int status = ARRAY_RESERVE_ZEROED(hot->rows, hot->room, trie->site_count, LIMIT);
    if (status == 0)
        status = ARRAY_RESERVE(hot->sorted, hot->sorted_room, trie->site_count, LIMIT);
    if (status == 0)
        status = ARRAY_RESERVE_ZEROED(hot->seen, hot->seen_room, trie->site_count, LIMIT);
    if (status == 0)
        status = ARRAY_RESERVE_ZEROED(hot->before, hot->before_room, trie->node_count, LIMIT);
    return status;
}

static void count_node(struct hot_functions *hot, const struct stack_trie *trie, uint32_t leaf)
{
    const uint64_t count = trie->nodes[leaf].count, fresh = count - hot->before[leaf];
    hot->before[leaf] = count;
    if (!fresh)
        return;
    hot->samples += fresh;
    hot->rows[trie->nodes[leaf].site].self += fresh;
    for (uint32_t node = leaf; node; node = trie->nodes[node].parent) {
        const uint32_t site = trie->nodes[node].site;
        if (hot->seen[site] == leaf)
            continue;
        hot->seen[site] = leaf;
        hot->rows[site].total += fresh;
    }
}

static int by_self(const void *a, const void *b)
{
    const struct hot_function *x = a, *y = b;
    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    return x->all_self < y->all_self ? 1 : x->all_self > y->all_self ? -1 : 0;
}

static int by_all(const void *a, const void *b)
{
    const struct hot_function *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return x->all_total < y->all_total ? 1 : x->all_total > y->all_total ? -1 : 0;
}

int hot_functions_look(struct hot_functions *hot, const struct stack_trie *trie, bool by_total)
{
    int status = make_room(hot, trie);
    if (status)
        return status;
    for (uint32_t site = 1; site < trie->site_count; site++) {
        hot->rows[site].site = site;
        hot->rows[site].self = hot->rows[site].total = 0;
    }
    hot->samples = 0;
    memset(hot->seen, 0, hot->seen_room * sizeof *hot->seen);
    for (uint32_t node = 1; node < trie->node_count; node++)
        count_node(hot, trie, node);
    hot->all_samples += hot->samples;
    hot->count = 0;
    for (uint32_t site = 1; site < trie->site_count; site++) {
        struct hot_function *row = &hot->rows[site];
        row->all_self += row->self;
        row->all_total += row->total;
        if (row->all_total && *trie->sites[site].file)
            hot->sorted[hot->count++] = *row;
    }
    ARRAY_SORT(hot->sorted, hot->count, by_total ? by_all : by_self);
    return 0;
}

void hot_functions_finish(struct hot_functions *hot)
{
    free(hot->rows);
    free(hot->sorted);
    free(hot->before);
    free(hot->seen);
    memset(hot, 0, sizeof *hot);
}
