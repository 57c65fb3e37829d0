// SPDX-License-Identifier: Apache-2.0
// Children hang in order of their names, so that two graphs of one program look
// alike.
#include "analyse/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define NODE_LIMIT ((size_t)1 << 26)
#define FIRST_SLOTS 4096u

static int compare_frames(const struct stack_frame *a, const struct stack_frame *b)
{
    int order = a->name == b->name ? 0 : strcmp(a->name, b->name);
    if (order == 0)
        order = a->path == b->path ? 0 : strcmp(a->path, b->path);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

// While the tree grows. Frames have numbers in order of their names, the same in
// both sets; a node is found by its parent's number and its frame's.
struct growing {
    struct flame_tree *tree;
    const struct stack_frame **order; // of both sets
    uint32_t *firsts;                 // by number: that of the first line of its function
    size_t number_count;
    uint32_t *numbers[2]; // by frame of each set
    uint32_t *frames;     // by node
    size_t frame_room;
    uint32_t *slots; // nodes, 0: free
    size_t slot_count;
};

static int by_name(const void *a, const void *b)
{
    const struct stack_frame *const *x = a, *const *y = b;
    return compare_frames(*x, *y);
}

static int number_set(struct growing *growing, const struct stack_set *set, int of, size_t count)
{
    growing->numbers[of] = calloc(set->frame_count + 1, sizeof(uint32_t));
    if (!growing->numbers[of])
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", set->frame_count);
    for (size_t i = 0; i < set->frame_count; i++) {
        const struct stack_frame *frame = &set->frames[i];
        const struct stack_frame **found =
            bsearch(&frame, growing->order, count, sizeof *growing->order, by_name);
        growing->numbers[of][i] = (uint32_t)(found - growing->order);
    }
    return 0;
}

static int number_frames(struct growing *growing, const struct stack_set *const sets[2])
{
    size_t count = 0, kept = 0;
    int status = 0;
    const size_t most = sets[0]->frame_count + (sets[1] ? sets[1]->frame_count : 0);
    growing->order = calloc(most + 1, sizeof *growing->order);
    growing->slot_count = FIRST_SLOTS;
    growing->slots = calloc(growing->slot_count, sizeof *growing->slots);
    growing->firsts = calloc(most + 1, sizeof *growing->firsts);
    if (!growing->order || !growing->slots || !growing->firsts)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", most);
    for (int of = 0; of < 2 && sets[of]; of++)
        for (size_t i = 0; i < sets[of]->frame_count; i++)
            growing->order[count++] = &sets[of]->frames[i];
    qsort(growing->order, count, sizeof *growing->order, by_name);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_name(&growing->order[i], &growing->order[kept - 1]) != 0)
            growing->order[kept++] = growing->order[i];
    growing->number_count = kept;
    for (int of = 0; of < 2 && sets[of] && status == 0; of++)
        status = number_set(growing, sets[of], of, kept);
    return status;
}

static void finish_growing(struct growing *growing)
{
    free(growing->order);
    free(growing->firsts);
    free(growing->numbers[0]);
    free(growing->numbers[1]);
    free(growing->frames);
    free(growing->slots);
}

// Lines are not looked at: frames that differ in them alone get one number.
static void join_lines(struct growing *growing, const struct stack_set *set, int of, size_t count)
{
    uint32_t *firsts = growing->firsts;
    for (uint32_t i = 1; i < count; i++) {
        const struct stack_frame *here = growing->order[i], *before = growing->order[i - 1];
        firsts[i] = strcmp(here->name, before->name) != 0 || strcmp(here->path, before->path) != 0
                        ? i
                        : firsts[i - 1];
    }
    for (size_t i = 0; i < set->frame_count; i++)
        growing->numbers[of][i] = firsts[growing->numbers[of][i]];
}

static uint32_t *slot_of(const struct growing *growing, uint32_t parent, uint32_t number)
{
    const uint64_t key = (uint64_t)parent << 32 | number;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (growing->slot_count - 1);
    while (growing->slots[at] && (growing->tree->nodes[growing->slots[at]].parent != parent ||
                                  growing->frames[growing->slots[at]] != number))
        at = (at + 1) & (growing->slot_count - 1);
    return &growing->slots[at];
}

static int grow_slots(struct growing *growing)
{
    uint32_t *slots = calloc(growing->slot_count * 2, sizeof *slots);
    if (!slots)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu frames", growing->tree->count);
    free(growing->slots);
    growing->slots = slots;
    growing->slot_count *= 2;
    for (size_t i = 1; i < growing->tree->count; i++)
        *slot_of(growing, growing->tree->nodes[i].parent, growing->frames[i]) = (uint32_t)i;
    return 0;
}

static int add_child(struct growing *growing, uint32_t parent, uint32_t number, uint32_t *ret_node)
{
    struct flame_tree *tree = growing->tree;
    uint32_t *slot = slot_of(growing, parent, number);
    if (*slot) {
        *ret_node = *slot;
        return 0;
    }
    int status = array_reserve((void **)&tree->nodes, &tree->capacity, tree->count + 1,
                               (struct array_shape){sizeof *tree->nodes, NODE_LIMIT});
    if (status == 0)
        status = array_reserve((void **)&growing->frames, &growing->frame_room, tree->count + 1,
                               (struct array_shape){sizeof *growing->frames, NODE_LIMIT});
    if (status == 0 && tree->count * 2 >= growing->slot_count)
        status = grow_slots(growing);
    if (status)
        return status;
    const uint32_t depth = tree->nodes[parent].depth + 1;
    tree->nodes[tree->count] =
        (struct flame_node){.frame = *growing->order[number], .parent = parent, .depth = depth};
    growing->frames[tree->count] = number;
    *slot_of(growing, parent, number) = (uint32_t)tree->count;
    *ret_node = (uint32_t)tree->count++;
    tree->depth = depth > tree->depth ? depth : tree->depth;
    return 0;
}

static int add_set(struct growing *growing, const struct stack_set *set, int of,
                   const struct flame_options *options)
{
    struct flame_tree *tree = growing->tree;
    if (options->by_function)
        join_lines(growing, set, of, growing->number_count);
    for (size_t i = 0; i < set->entry_count; i++) {
        const struct stack_entry *entry = &set->entries[i];
        uint32_t node = 0;
        for (uint32_t depth = 0; depth <= entry->depth; depth++) {
            uint64_t *count = of ? &tree->nodes[node].before : &tree->nodes[node].count;
            *count += entry->count;
            if (depth == entry->depth)
                break;
            const uint32_t id = set->ids[entry->first + depth];
            int status = add_child(growing, node, growing->numbers[of][id], &node);
            if (status)
                return status;
            if (options->by_function)
                tree->nodes[node].frame.line = 0;
        }
    }
    return 0;
}

// Children hang in the order of their frames' numbers: counting sort by number,
// each put in front of its siblings, the last number first.
static int link_children(struct growing *growing)
{
    struct flame_tree *tree = growing->tree;
    uint32_t *first = calloc(growing->number_count + 1, sizeof *first); // of the nodes of a number
    uint32_t *next = calloc(tree->count, sizeof *next);
    if (!first || !next) {
        free(first);
        free(next);
        return fail(GAIT_ERR_MEMORY, "no memory for %zu frames", tree->count);
    }
    for (uint32_t i = 1; i < tree->count; i++) {
        next[i] = first[growing->frames[i]];
        first[growing->frames[i]] = i;
    }
    for (size_t number = growing->number_count; number-- > 0;)
        for (uint32_t node = first[number]; node; node = next[node]) {
            struct flame_node *parent = &tree->nodes[tree->nodes[node].parent];
            tree->nodes[node].sibling = parent->child;
            parent->child = node;
        }
    free(first);
    free(next);
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
    const struct stack_set *const sets[2] = {set, before};
    struct growing growing = {.tree = &tree};
    status = number_frames(&growing, sets);
    for (int of = 0; of < 2 && sets[of] && status == 0; of++)
        status = add_set(&growing, sets[of], of, options);
    if (status == 0)
        status = link_children(&growing);
    finish_growing(&growing);
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
