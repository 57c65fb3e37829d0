// SPDX-License-Identifier: Apache-2.0
// Children hang in order of their names, so that two graphs of one program look
// alike.
#include "analyse/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define NODE_LIMIT ((size_t)1 << 26)

static int compare_frames(const struct stack_frame *a, const struct stack_frame *b)
{
    int order = a->name == b->name ? 0 : strcmp(a->name, b->name);
    if (order == 0)
        order = a->path == b->path ? 0 : strcmp(a->path, b->path);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int add_child(struct flame_tree *tree, uint32_t parent, const struct stack_frame *frame,
                     uint32_t *ret_node)
{
    uint32_t *link = &tree->nodes[parent].child;
    int order = -1;
    while (*link && (order = compare_frames(&tree->nodes[*link].frame, frame)) < 0)
        link = &tree->nodes[*link].sibling;
    if (*link && order == 0) {
        *ret_node = *link;
        return 0;
    }
    const size_t at = (size_t)((uint8_t *)link - (uint8_t *)tree->nodes); // nodes may move
    int status = array_reserve((void **)&tree->nodes, &tree->capacity, tree->count + 1,
                               (struct array_shape){sizeof *tree->nodes, NODE_LIMIT});
    if (status)
        return status;
    link = (uint32_t *)(void *)((uint8_t *)tree->nodes + at);
    const uint32_t depth = tree->nodes[parent].depth + 1;
    tree->nodes[tree->count] =
        (struct flame_node){.frame = *frame, .parent = parent, .sibling = *link, .depth = depth};
    *link = (uint32_t)tree->count;
    *ret_node = (uint32_t)tree->count++;
    tree->depth = depth > tree->depth ? depth : tree->depth;
    return 0;
}

static int add_set(struct flame_tree *tree, const struct stack_set *set, bool is_before,
                   const struct flame_options *options)
{
    for (size_t i = 0; i < set->entry_count; i++) {
        const struct stack_entry *entry = &set->entries[i];
        uint32_t node = 0;
        for (uint32_t depth = 0; depth <= entry->depth; depth++) {
            uint64_t *count = is_before ? &tree->nodes[node].before : &tree->nodes[node].count;
            *count += entry->count;
            if (depth == entry->depth)
                break;
            struct stack_frame frame = *stack_set_at(set, entry, depth);
            if (options->by_function)
                frame.line = 0;
            int status = add_child(tree, node, &frame, &node);
            if (status)
                return status;
        }
    }
    return 0;
}

// Parents stand before their children in the array, siblings are linked.
static void lay_out(struct flame_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        uint64_t start = tree->nodes[i].start;
        for (uint32_t child = tree->nodes[i].child; child; child = tree->nodes[child].sibling) {
            tree->nodes[child].start = start;
            start += tree->nodes[child].count;
        }
    }
}

int flame_tree_make(const struct stack_set *set, const struct stack_set *before,
                    const struct flame_options *options, struct flame_tree *ret_tree)
{
    struct flame_tree tree = {.has_before = before};
    int status = array_reserve((void **)&tree.nodes, &tree.capacity, 1,
                               (struct array_shape){sizeof *tree.nodes, NODE_LIMIT});
    if (status)
        return status;
    tree.nodes[0] = (struct flame_node){.frame = {"all", "", 0, STACK_FRAME_CODE}};
    tree.count = 1;
    status = add_set(&tree, set, false, options);
    if (status == 0 && before)
        status = add_set(&tree, before, true, options);
    if (status) {
        flame_tree_finish(&tree);
        return status;
    }
    lay_out(&tree);
    *ret_tree = tree;
    return 0;
}

void flame_tree_finish(struct flame_tree *tree)
{
    free(tree->nodes);
    memset(tree, 0, sizeof *tree);
}
