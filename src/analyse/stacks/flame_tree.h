// SPDX-License-Identifier: Apache-2.0
// Stacks put on top of each other: equal callers become one node.
#ifndef GAIT_ANALYSE_FLAME_TREE_H
#define GAIT_ANALYSE_FLAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "analyse/stacks/stack_set.h"

struct flame_node {
    struct stack_frame frame; // of node 0: nothing
    uint32_t depth;           // 0: the root
    uint64_t count, before;   // samples in it and above; before: of the other set
    uint64_t start;           // samples to the left of it
};

struct flame_tree {
    struct flame_node *nodes; // by depth, then from left to right; 0 is the root
    size_t count, capacity;
    uint32_t depth; // of the deepest node
    bool has_before;
};

struct flame_options {
    bool by_function; // lines of a function are one
    double narrowest; // share of the samples: what has less is left out, with what it calls
};

// `before` may be NULL: then nothing is compared.
GAIT_CHECK int flame_tree_make(const struct stack_set *set, const struct stack_set *before,
                               const struct flame_options *options, struct flame_tree *ret_tree);
void flame_tree_finish(struct flame_tree *tree);

#endif
