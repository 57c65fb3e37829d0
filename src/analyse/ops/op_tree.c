// SPDX-License-Identifier: Apache-2.0
// The rules are those of torch.profiler, since people compare with its tables.
// Events are put in order of thread alone; those that stand together then, of one
// thread and one node, make a forest. So events of two nodes that share a
// thread's number and are mixed make many small ones.
#include "analyse/ops/op_tree.h"

#include <stdlib.h>

#include "analyse/ops/op_list.h"
#include "base/array.h"
#include "base/fail.h"

struct placed {
    double start_us, end_us;
    int64_t thread;
    uint32_t index, place; // place: in order of thread
};

ARRAY_BY2(by_thread, struct placed, thread, index)

static int by_start(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    RETURN_IF_APART(a->start_us, b->start_us);
    RETURN_IF_APART(b->end_us, a->end_us);
    return a->place < b->place ? -1 : a->place > b->place;
}

static void sort_unless_sorted(struct placed *rows, size_t count,
                               int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < count; i++) {
        if (compare(&rows[i - 1], &rows[i]) > 0) {
            qsort(rows, count, sizeof *rows, compare);
            return;
        }
    }
}

static size_t place_all(const struct gait_ops *ops, struct placed *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const struct gait_op *op = &ops->ops[i];
        if (op->flags & (GAIT_OP_ON_DEVICE | GAIT_OP_ASYNC))
            continue;
        rows[count++] = (struct placed){op->start_us, op->end_us, op->thread, (uint32_t)i, 0};
    }
    sort_unless_sorted(rows, count, by_thread);
    for (size_t i = 0; i < count; i++)
        rows[i].place = (uint32_t)i;
    return count;
}

static void adopt(struct op_node *nodes, uint32_t parent, uint32_t child)
{
    nodes[child].parent = parent;
    if (nodes[parent].children++)
        nodes[nodes[parent].last_child].next = child;
    else
        nodes[parent].first_child = child;
    nodes[parent].last_child = child;
}

static bool is_within(const struct gait_op *inner, const struct gait_op *outer)
{
    return inner->start_us < outer->end_us && inner->end_us <= outer->end_us;
}

// The parents so far are a chain of nodes: each one's own parent is below it. A
// node without parent may have followed others that it is not within, and so
// ended the chain.
static void grow_forest(struct gait_ops *ops, const struct placed *rows, size_t count)
{
    uint32_t top = OP_NONE;
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = rows[i].index;
        while (top != OP_NONE && !is_within(&ops->ops[index], &ops->ops[top]))
            top = ops->nodes[top].parent;
        if (top != OP_NONE)
            adopt(ops->nodes, top, index);
        top = index;
        ops->order[ops->ordered++] = index;
    }
}

static void grow_all(struct gait_ops *ops, struct placed *rows, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        const uint32_t node = ops->ops[rows[from].index].node;
        for (to = from + 1; to < count && rows[to].thread == rows[from].thread &&
                            ops->ops[rows[to].index].node == node;)
            to++;
        sort_unless_sorted(rows + from, to - from, by_start);
        grow_forest(ops, rows + from, to - from);
    }
}

static bool is_repeat(const struct gait_ops *ops, uint32_t index)
{
    const uint32_t parent = ops->nodes[index].parent;
    return parent != OP_NONE && ops->nodes[parent].children == 1 &&
           ops->ops[parent].name == ops->ops[index].name;
}

// What it called and launched is its parent's from now on.
static void lift(struct gait_ops *ops, uint32_t index)
{
    struct op_node *node = &ops->nodes[index], *parent = &ops->nodes[node->parent];
    for (uint32_t child = node->first_child; child != OP_NONE; child = ops->nodes[child].next)
        ops->nodes[child].parent = node->parent;
    parent->first_child = node->first_child;
    parent->last_child = node->last_child;
    parent->children = node->children;
    ops->ops[node->parent].kernel_us = ops->ops[index].kernel_us;
    node->is_gone = true;
}

// Again and again: where one went, the next may have become an only child.
static void drop_repeats(struct gait_ops *ops)
{
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < ops->count; i++) {
            if (ops->nodes[i].is_gone || !is_repeat(ops, (uint32_t)i))
                continue;
            lift(ops, (uint32_t)i);
            is_changed = true;
        }
    }
}

int op_tree_build(struct gait_ops *ops)
{
    struct placed *rows = malloc((ops->count + 1) * sizeof *rows);
    ops->nodes = malloc((ops->count + 1) * sizeof *ops->nodes);
    ops->order = malloc((ops->count + 1) * sizeof *ops->order);
    if (!rows || !ops->nodes || !ops->order) {
        free(rows);
        return fail(GAIT_ERR_MEMORY, "no memory for the tree of %zu ops", ops->count);
    }
    for (size_t i = 0; i < ops->count; i++)
        ops->nodes[i] = (struct op_node){OP_NONE, OP_NONE, OP_NONE, OP_NONE, 0, false};
    grow_all(ops, rows, place_all(ops, rows));
    drop_repeats(ops);
    free(rows);
    return GAIT_OK;
}
