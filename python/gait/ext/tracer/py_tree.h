// SPDX-License-Identifier: Apache-2.0
// A call tree: how often and how long each thing was called from where. A node
// is one key (a code object, a C function, an action) below one parent in one
// context. Memory is bounded by the number of different nodes. It knows nothing
// of Python; whoever calls holds the GIL.
#ifndef GAIT_PY_TREE_H
#define GAIT_PY_TREE_H

#include <stddef.h>
#include <stdint.h>

struct tree_node {
    const void *key, *context;
    struct tree_node *parent;
    struct tree_node *guess; // the child that was called last
    struct tree_node *first_child, *next_sibling;
    uint64_t calls, ticks, own_ticks;
    int is_known; // the owner's mark, 0 at first
};

struct tree_chunk;

struct tree {
    struct tree_node **table; // open addressing; a power of two
    size_t table_size;
    size_t node_count, node_limit;
    struct tree_chunk *chunks; // where the nodes lie: they never move
    size_t chunk_used;
    uint64_t folded; // calls counted at the root for want of nodes
};

// `node_limit` bounds the memory: about 90 bytes a node.
void tree_init(struct tree *tree, size_t node_limit);
void tree_finish(struct tree *tree);

// A node of no parent. NULL when there is no memory.
struct tree_node *tree_add_root(struct tree *tree, const void *key);

// The child of `parent`, made if need be. Where the limit or the memory does not
// let it, the child of `parent`'s root, and past some slack NULL.
struct tree_node *tree_find_child(struct tree *tree, struct tree_node *parent, const void *key,
                                  const void *context);

static inline struct tree_node *tree_child(struct tree *tree, struct tree_node *parent,
                                           const void *key, const void *context)
{
    struct tree_node *guess = parent->guess;
    if (__builtin_expect(guess && guess->key == key && guess->context == context, 1))
        return guess;
    return tree_find_child(tree, parent, key, context);
}

// The node after `node` when all are walked from the root, parents first; NULL
// at the end. `ret_depth` goes along, 0 for the root.
struct tree_node *tree_next(const struct tree_node *node, const struct tree_node *root, int *depth);

// Forgets counts and times; the nodes stay where they are.
void tree_clear_counts(struct tree *tree);

#endif
