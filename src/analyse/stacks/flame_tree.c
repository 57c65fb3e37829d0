// SPDX-License-Identifier: Apache-2.0
// Children stand in order of their names, so that two graphs of one program look
// alike. A node is a range of the stacks, sorted by their frames up to there: memory
// is for stacks and for nodes that are wide enough, not for all that there could be.
#include "analyse/stacks/flame_tree.h"

#include <math.h>
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

#define FEW 64u // that are sorted by comparing
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

// While the tree grows. Frames have numbers in order of their names, the same in both
// sets. An item is a stack with the number of its frame at the depth that is looked at
// above it; the second set's stacks are counted on from the first's.
struct growing {
    struct flame_tree *tree;
    const struct stack_set *const *sets;
    const struct stack_frame **order; // of both sets
    uint32_t *firsts;                 // by number: that of the first line of its function
    size_t number_count;
    uint32_t *numbers[2]; // by frame of each set
    uint64_t *items, *others;
    struct span {
        size_t from, to;
    } *spans; // of items, by node
    size_t span_room;
    uint64_t least;
    bool by_function;
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
    growing->firsts = calloc(most + 1, sizeof *growing->firsts);
    if (!growing->order || !growing->firsts)
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
    free(growing->items);
    free(growing->others);
    free(growing->spans);
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

static int fill_items(struct growing *growing)
{
    struct flame_node *root = &growing->tree->nodes[0];
    const size_t now = growing->sets[0]->entry_count;
    const size_t all = now + (growing->sets[1] ? growing->sets[1]->entry_count : 0);
    growing->items = calloc(all + 1, sizeof *growing->items);
    growing->others = calloc(all + 1, sizeof *growing->others);
    if (!growing->items || !growing->others || all > UINT32_MAX)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu stacks", all);
    for (size_t i = 0; i < all; i++)
        growing->items[i] = i;
    for (size_t i = 0; i < now; i++)
        root->count += growing->sets[0]->entries[i].count;
    for (size_t i = now; i < all; i++)
        root->before += growing->sets[1]->entries[i - now].count;
    growing->spans[0] = (struct span){0, all};
    return 0;
}

static const struct stack_entry *entry_of(const struct growing *growing, uint64_t item, int *ret_of)
{
    const size_t at = (uint32_t)item, now = growing->sets[0]->entry_count;
    *ret_of = at >= now;
    return *ret_of ? &growing->sets[1]->entries[at - now] : &growing->sets[0]->entries[at];
}

// Numbers the frames at a depth; stacks that end there leave the span.
static bool number_items(struct growing *growing, struct span *span, uint32_t depth)
{
    uint64_t *items = growing->items;
    size_t kept = span->from;
    bool are_equal = true;
    for (size_t i = span->from; i < span->to; i++) {
        int of;
        const struct stack_entry *entry = entry_of(growing, items[i], &of);
        if (entry->depth <= depth)
            continue;
        const uint32_t id = growing->sets[of]->ids[entry->first + depth];
        items[kept] = (uint64_t)growing->numbers[of][id] << 32 | (uint32_t)items[i];
        are_equal = are_equal && items[kept] >> 32 == items[span->from] >> 32;
        kept++;
    }
    span->to = kept;
    return are_equal;
}

static int by_item(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// One digit of the numbers, which keeps the order of what has the same.
static void sort_digit(struct growing *growing, const struct span *span, unsigned shift)
{
    size_t starts[DIGITS] = {0};
    uint64_t *items = growing->items + span->from, *others = growing->others + span->from;
    const size_t count = span->to - span->from;
    for (size_t i = 0; i < count; i++)
        starts[items[i] >> shift & (DIGITS - 1)]++;
    for (size_t digit = 0, before = 0; digit < DIGITS; digit++) {
        const size_t here = starts[digit];
        starts[digit] = before;
        before += here;
    }
    for (size_t i = 0; i < count; i++)
        others[starts[items[i] >> shift & (DIGITS - 1)]++] = items[i];
    memcpy(items, others, count * sizeof *items);
}

static void sort_items(struct growing *growing, const struct span *span)
{
    const size_t count = span->to - span->from;
    if (count <= FEW) {
        qsort(growing->items + span->from, count, sizeof *growing->items, by_item);
        return;
    }
    for (unsigned bits = 0; growing->number_count >> bits; bits += DIGIT_BITS)
        sort_digit(growing, span, 32 + bits);
}

static int add_child(struct growing *growing, const struct flame_node *child,
                     const struct span *span)
{
    struct flame_tree *tree = growing->tree;
    int status = ARRAY_RESERVE(tree->nodes, tree->capacity, tree->count + 1, NODE_LIMIT);
    if (status == 0)
        status = ARRAY_RESERVE(growing->spans, growing->span_room, tree->count + 1, NODE_LIMIT);
    if (status)
        return status;
    tree->depth = child->depth > tree->depth ? child->depth : tree->depth;
    growing->spans[tree->count] = *span;
    tree->nodes[tree->count++] = *child;
    return 0;
}

// The children of a node, from left to right; the narrow ones take their place only.
static int add_children(struct growing *growing, size_t node)
{
    struct span span = growing->spans[node];
    uint64_t start = growing->tree->nodes[node].start;
    const uint32_t depth = growing->tree->nodes[node].depth;
    int status = 0;
    if (!number_items(growing, &span, depth))
        sort_items(growing, &span);
    for (size_t from = span.from, to; from < span.to && status == 0; from = to) {
        const uint64_t number = growing->items[from] >> 32;
        struct flame_node child = {
            .frame = *growing->order[number], .depth = depth + 1, .start = start};
        for (to = from; to < span.to && growing->items[to] >> 32 == number; to++) {
            int of;
            const struct stack_entry *entry = entry_of(growing, growing->items[to], &of);
            *(of ? &child.before : &child.count) += entry->count;
        }
        start += child.count;
        if (growing->by_function)
            child.frame.line = 0;
        if (child.count >= growing->least)
            status = add_child(growing, &child, &(struct span){from, to});
    }
    return status;
}

static int grow(struct growing *growing, const struct flame_options *options)
{
    int status = number_frames(growing, growing->sets);
    for (int of = 0; of < 2 && growing->sets[of] && options->by_function && status == 0; of++)
        join_lines(growing, growing->sets[of], of, growing->number_count);
    growing->by_function = options->by_function;
    if (status == 0)
        status = fill_items(growing);
    growing->least = (uint64_t)ceil(options->narrowest * (double)growing->tree->nodes[0].count);
    for (size_t node = 0; node < growing->tree->count && status == 0; node++)
        status = add_children(growing, node);
    return status;
}

int flame_tree_make(const struct stack_set *set, const struct stack_set *before,
                    const struct flame_options *options, struct flame_tree *ret_tree)
{
    struct flame_tree tree = {.has_before = before};
    int status = ARRAY_RESERVE(tree.nodes, tree.capacity, 1, NODE_LIMIT);
    if (status)
        return status;
    tree.nodes[0] = (struct flame_node){.frame = {"all", "", 0, FRAME_NONE}};
    tree.count = 1;
    const struct stack_set *const sets[2] = {set, before};
    struct growing growing = {.tree = &tree, .sets = sets};
    status = ARRAY_RESERVE(growing.spans, growing.span_room, 1, NODE_LIMIT);
    if (status == 0)
        status = grow(&growing, options);
    finish_growing(&growing);
    if (status) {
        flame_tree_finish(&tree);
        return status;
    }
    *ret_tree = tree;
    return 0;
}

void flame_tree_finish(struct flame_tree *tree)
{
    free(tree->nodes);
    memset(tree, 0, sizeof *tree);
}
