// SPDX-License-Identifier: Apache-2.0
// Nodes in chunks, and the table that finds a child which was not called last.
#include "tracer/py_tree.h"

#include <stdlib.h>

#define CHUNK_NODES 255
#define SLACK 32768 // nodes that the limit leaves for the root's children

struct tree_chunk {
    struct tree_chunk *next;
    struct tree_node nodes[CHUNK_NODES];
};

void tree_init(struct tree *tree, size_t node_limit)
{
    *tree = (struct tree){.node_limit = node_limit};
}

void tree_finish(struct tree *tree)
{
    while (tree->chunks) {
        struct tree_chunk *next = tree->chunks->next;
        free(tree->chunks);
        tree->chunks = next;
    }
    free(tree->table);
    *tree = (struct tree){.node_limit = tree->node_limit};
}

static struct tree_node *take_node(struct tree *tree, size_t limit)
{
    if (tree->node_count >= limit)
        return NULL;
    if (!tree->chunks || tree->chunk_used == CHUNK_NODES) {
        struct tree_chunk *chunk = calloc(1, sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = tree->chunks;
        tree->chunks = chunk;
        tree->chunk_used = 0;
    }
    tree->node_count++;
    return &tree->chunks->nodes[tree->chunk_used++];
}

static size_t place_of(const struct tree *tree, const struct tree_node *parent, const void *key,
                       const void *context)
{
    uint64_t hash = ((uintptr_t)parent >> 3) * 0x9E3779B97F4A7C15u;
    hash ^= ((uintptr_t)key >> 4) * 0xC2B2AE3D27D4EB4Fu;
    hash ^= ((uintptr_t)context >> 4) * 0x165667B19E3779F9u;
    return (size_t)(hash >> 29) & (tree->table_size - 1);
}

static struct tree_node **find_slot(const struct tree *tree, const struct tree_node *parent,
                                    const void *key, const void *context)
{
    size_t place = place_of(tree, parent, key, context);
    for (;; place = (place + 1) & (tree->table_size - 1)) {
        const struct tree_node *node = tree->table[place];
        if (!node || (node->key == key && node->parent == parent && node->context == context))
            return &tree->table[place];
    }
}

// At most half full, so that a search ends soon.
static int make_room(struct tree *tree)
{
    if (tree->node_count * 2 < tree->table_size)
        return 0;
    struct tree old = *tree;
    size_t size = old.table_size ? old.table_size * 2 : 256;
    tree->table = calloc(size, sizeof(struct tree_node *));
    if (!tree->table) {
        tree->table = old.table;
        return -1;
    }
    tree->table_size = size;
    for (size_t i = 0; i < old.table_size; i++) {
        struct tree_node *node = old.table[i];
        if (node)
            *find_slot(tree, node->parent, node->key, node->context) = node;
    }
    free(old.table);
    return 0;
}

struct tree_node *tree_add_root(struct tree *tree, const void *key)
{
    struct tree_node *root = take_node(tree, tree->node_limit + SLACK);
    if (root)
        root->key = key;
    return root;
}

static struct tree_node *root_of(struct tree_node *node)
{
    while (node->parent)
        node = node->parent;
    return node;
}

static struct tree_node *add_child(struct tree *tree, struct tree_node *parent, const void *key,
                                   const void *context)
{
    struct tree_node *node = take_node(tree, tree->node_limit + (parent->parent ? 0 : SLACK));
    if (!node)
        return NULL;
    node->key = key;
    node->context = context;
    node->parent = parent;
    node->next_sibling = parent->first_child;
    parent->first_child = node;
    return node;
}

struct tree_node *tree_find_child(struct tree *tree, struct tree_node *parent, const void *key,
                                  const void *context)
{
    if (make_room(tree))
        return NULL;
    struct tree_node **slot = find_slot(tree, parent, key, context);
    if (!*slot)
        *slot = add_child(tree, parent, key, context);
    if (!*slot && parent->parent) {
        tree->folded++;
        return tree_find_child(tree, root_of(parent), key, context);
    }
    if (*slot)
        parent->guess = *slot;
    return *slot;
}

struct tree_node *tree_next(const struct tree_node *node, const struct tree_node *root, int *depth)
{
    if (node->first_child) {
        ++*depth;
        return node->first_child;
    }
    while (node != root && !node->next_sibling) {
        node = node->parent;
        --*depth;
    }
    return node == root ? NULL : node->next_sibling;
}

void tree_clear_counts(struct tree *tree)
{
    size_t used = tree->chunk_used;
    for (struct tree_chunk *chunk = tree->chunks; chunk; chunk = chunk->next) {
        for (size_t i = 0; i < used; i++)
            chunk->nodes[i].calls = chunk->nodes[i].ticks = chunk->nodes[i].own_ticks = 0;
        used = CHUNK_NODES;
    }
}
