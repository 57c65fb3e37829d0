// SPDX-License-Identifier: Apache-2.0
// Which functions the samples of the last moments were in, for a screen that is
// drawn again and again.
#ifndef GAIT_SAMPLE_HOT_FUNCTIONS_H
#define GAIT_SAMPLE_HOT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/look/stack_trie.h"

struct hot_function {
    uint32_t site;
    uint64_t self, total;         // samples since the look before; total: anywhere in the stack
    uint64_t all_self, all_total; // since the beginning
};

struct hot_functions {
    struct hot_function *rows; // by site while counting, in order after a look
    size_t count, room;
    uint64_t *before; // counts of the nodes at the look before
    size_t before_room;
    uint32_t *seen; // by site: the last node that counted it
    size_t seen_room;
    struct hot_function *sorted;
    size_t sorted_room;
    uint64_t samples, all_samples; // of this look; of all
};

// Looks at the tree; `by_total` is the order. Fails for want of memory.
GAIT_CHECK int hot_functions_look(struct hot_functions *hot, const struct stack_trie *trie,
                                  bool by_total);
void hot_functions_finish(struct hot_functions *hot); // takes a zeroed one

#endif
