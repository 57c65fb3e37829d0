// SPDX-License-Identifier: Apache-2.0
// Ranges of one thread nest by time; calls of the runtime belong to the operator with their
// external id. One that does nothing but call itself is one with its callee.
#include "analyse/compat/tb_ops.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/compat/keyed_rows.h"
#include "base/fail.h"

struct node {
    const struct foreign_row *row;
    enum tb_type type;
    size_t parent;   // NO_NODE: none
    size_t alias;    // the node it is one with; itself otherwise
    size_t children; // before any were made one
    uint64_t called_ns, own_device_ns, device_ns, tensor_ns, kernel_ns, inner_ns;
    bool is_eligible;
};
#define NO_NODE SIZE_MAX

struct tree {
    struct node *nodes; // by track, then by start, the longer first: parents before children
    size_t count;
};

static bool is_eligible(const char *name)
{
    static const char *const names[] = {"aten::_convolution",
                                        "aten::conv1d",
                                        "aten::conv2d",
                                        "aten::conv3d",
                                        "aten::conv_tbc",
                                        "aten::conv_transpose1d",
                                        "aten::conv_transpose2d",
                                        "aten::conv_transpose3d",
                                        "aten::convolution",
                                        "aten::cudnn_convolution",
                                        "aten::cudnn_convolution_transpose",
                                        "aten::prelu",
                                        "aten::addmm",
                                        "aten::addmv",
                                        "aten::addr",
                                        "aten::matmul",
                                        "aten::mm",
                                        "aten::mv",
                                        "aten::linear",
                                        "aten::addbmm",
                                        "aten::baddbmm",
                                        "aten::bmm",
                                        "aten::chain_matmul",
                                        "aten::linalg_multi_dot",
                                        "aten::_thnn_fused_lstm_cell",
                                        "aten::_thnn_fused_gru_cell",
                                        "aten::lstm_cell",
                                        "aten::gru_cell",
                                        "aten::rnn_tanh_cell",
                                        "aten::rnn_relu_cell",
                                        "CudnnConvolutionBackward",
                                        "BmmBackward0",
                                        "aten::cudnn_convolution_transpose_backward",
                                        "CudnnConvolutionTransposeBackward",
                                        "MmBackward",
                                        "aten::cudnn_convolution_backward_weight",
                                        "aten::addmm_",
                                        "AddmvBackward",
                                        "MvBackward",
                                        "aten::cudnn_convolution_transpose_backward_weight",
                                        "aten::cudnn_convolution_transpose_backward_input",
                                        "AddmmBackward",
                                        "aten::cudnn_convolution_backward_input",
                                        "AddbmmBackward",
                                        "aten::cudnn_convolution_backward"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

// A loader's and an optimizer's ranges are of other kinds to it.
static bool is_operator(const struct node *node)
{
    const char *name = node->row->name;
    return node->type == TB_OPERATOR && !node->row->kind.is_loader &&
           strncmp(name, "Optimizer.", 10) != 0 && strcmp(name, "DataParallel.forward") != 0 &&
           strcmp(name, "DistributedDataParallel.forward") != 0;
}

// --- the tree --------------------------------------------------------------------------

static int by_track(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    if (a->row->track != b->row->track)
        return a->row->track < b->row->track ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row; // which stand by start, the longer first
}

// A range that reaches beyond the one around it is left out.
static void find_parents(struct tree *tree)
{
    size_t open = NO_NODE, kept = 0;
    for (size_t i = 0; i < tree->count; i++) {
        struct node node = tree->nodes[i];
        if (open != NO_NODE && tree->nodes[open].row->track != node.row->track)
            open = NO_NODE;
        while (open != NO_NODE && node.row->start_ns >= tree->nodes[open].row->end_ns)
            open = tree->nodes[open].parent;
        if (open != NO_NODE && node.row->end_ns > tree->nodes[open].row->end_ns)
            continue;
        node.parent = open;
        node.alias = kept;
        if (open != NO_NODE)
            tree->nodes[open].children++;
        tree->nodes[kept] = node;
        open = kept++;
    }
    tree->count = kept;
}

static int grow_tree(struct tree *tree, const struct foreign_rows *foreign)
{
    tree->nodes = calloc(foreign->count + 1, sizeof *tree->nodes);
    if (!tree->nodes)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu operators", foreign->count);
    for (size_t i = 0; i < foreign->count; i++) {
        const struct foreign_row *row = &foreign->rows[i];
        const enum tb_type type = tb_type_of(row);
        if (type == TB_OPERATOR || type == TB_PYTHON || type == TB_STEP || type == TB_RANGE)
            tree->nodes[tree->count++] =
                (struct node){.row = row, .type = type, .is_eligible = is_eligible(row->name)};
    }
    if (tree->count)
        qsort(tree->nodes, tree->count, sizeof *tree->nodes, by_track);
    find_parents(tree);
    return GAIT_OK;
}

// --- calls of the runtime --------------------------------------------------------------

struct linking {
    const struct foreign_rows *foreign;
    struct keyed_rows ops, calls; // nodes by external id; rows of the runtime by correlation
};

static void link_row(struct tb_ops *ops, struct tree *tree, const struct linking *linking, size_t i)
{
    const struct foreign_row *row = &linking->foreign->rows[i], *call = row;
    const enum tb_type type = tb_type_of(row);
    const uint64_t ns = (uint64_t)row->end_ns - (uint64_t)row->start_ns;
    if (type != TB_RUNTIME) {
        const size_t at = keyed_rows_find(&linking->calls, row->correlation);
        call = at == KEYED_NONE ? NULL : &linking->foreign->rows[at];
    }
    const size_t op =
        call && call->external > 0 ? keyed_rows_find(&linking->ops, call->external) : KEYED_NONE;
    if (op == KEYED_NONE)
        return;
    struct node *node = &tree->nodes[op];
    if (type == TB_RUNTIME) {
        node->called_ns += ns;
        return;
    }
    const bool uses_tensor_cores = tb_uses_tensor_cores(row->name);
    node->own_device_ns += ns;
    node->tensor_ns += uses_tensor_cores ? ns : 0;
    node->is_eligible |= uses_tensor_cores;
    if (type == TB_KERNEL) {
        node->kernel_ns += ns;
        ops->has_kernels = true;
    }
}

static int link_calls(struct tb_ops *ops, struct tree *tree, const struct foreign_rows *foreign)
{
    struct linking linking = {.foreign = foreign};
    int status = keyed_rows_init(&linking.ops, tree->count);
    if (!status)
        status = keyed_rows_init(&linking.calls, foreign->count);
    for (size_t i = 0; i < tree->count && !status; i++)
        if (tree->nodes[i].row->external > 0)
            keyed_rows_add(&linking.ops, tree->nodes[i].row->external, i);
    for (size_t i = 0; i < foreign->count && !status; i++)
        if (tb_type_of(&foreign->rows[i]) == TB_RUNTIME)
            keyed_rows_add(&linking.calls, foreign->rows[i].correlation, i);
    keyed_rows_sort(&linking.ops);
    keyed_rows_sort(&linking.calls);
    for (size_t i = 0; i < foreign->count && !status && linking.calls.count; i++) {
        const enum tb_type type = tb_type_of(&foreign->rows[i]);
        if (type == TB_RUNTIME || type == TB_KERNEL || type == TB_MEMCPY || type == TB_MEMSET)
            link_row(ops, tree, &linking, i);
    }
    keyed_rows_finish(&linking.ops);
    keyed_rows_finish(&linking.calls);
    return status;
}

// --- sums ------------------------------------------------------------------------------

// An only child of the same name becomes one with its parent, which then has the child's
// calls and not its own.
static void make_one(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct node *node = &tree->nodes[i], *parent;
        if (node->parent == NO_NODE)
            continue;
        const size_t above = tree->nodes[node->parent].alias;
        const bool is_only = tree->nodes[node->parent].children == 1;
        parent = &tree->nodes[above];
        node->parent = above;
        if (!is_only || node->type != TB_OPERATOR || parent->type != TB_OPERATOR ||
            strcmp(node->row->name, parent->row->name) != 0)
            continue;
        node->alias = above;
        parent->called_ns = node->called_ns;
        parent->own_device_ns = node->own_device_ns;
        parent->tensor_ns = node->tensor_ns;
        parent->kernel_ns = node->kernel_ns;
    }
}

static void add_to_parents(struct tree *tree)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct node *node = &tree->nodes[i];
        if (node->alias != i)
            continue;
        node->device_ns += node->own_device_ns;
        if (node->parent == NO_NODE)
            continue;
        struct node *parent = &tree->nodes[node->parent];
        parent->device_ns += node->device_ns;
        parent->inner_ns += (uint64_t)node->row->end_ns - (uint64_t)node->row->start_ns;
        parent->is_eligible |= node->is_eligible && parent->type == TB_OPERATOR;
    }
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct tb_op *)left)->name, ((const struct tb_op *)right)->name);
}

static int add_up(struct tb_ops *ops, const struct tree *tree)
{
    size_t kept = 0;
    ops->rows = malloc((tree->count + 1) * sizeof *ops->rows);
    if (!ops->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu operators", tree->count);
    for (size_t i = 0; i < tree->count; i++) {
        const struct node *node = &tree->nodes[i];
        if (node->alias != i || !is_operator(node))
            continue;
        const uint64_t ns = (uint64_t)node->row->end_ns - (uint64_t)node->row->start_ns;
        ops->kernel_ns += node->kernel_ns;
        ops->tensor_ns += node->tensor_ns;
        ops->rows[ops->count++] = (struct tb_op){node->row->name,
                                                 1,
                                                 ns,
                                                 node->device_ns,
                                                 node->own_device_ns,
                                                 (int64_t)(ns - node->inner_ns - node->called_ns),
                                                 node->is_eligible};
    }
    if (ops->count)
        qsort(ops->rows, ops->count, sizeof *ops->rows, by_name);
    for (size_t i = 0; i < ops->count; i++) {
        struct tb_op *sum = kept ? &ops->rows[kept - 1] : NULL;
        const struct tb_op *row = &ops->rows[i];
        if (!sum || strcmp(sum->name, row->name) != 0) {
            ops->rows[kept++] = *row;
            continue;
        }
        sum->calls += row->calls;
        sum->host_ns += row->host_ns;
        sum->own_host_ns += row->own_host_ns;
        sum->device_ns += row->device_ns;
        sum->own_device_ns += row->own_device_ns;
    }
    ops->count = kept;
    return GAIT_OK;
}

int tb_ops_make(struct tb_ops *ops, const struct tb_rank *rank)
{
    struct tree tree = {NULL, 0};
    *ops = (struct tb_ops){.rows = NULL};
    int status = grow_tree(&tree, rank->foreign);
    if (!status)
        status = link_calls(ops, &tree, rank->foreign);
    if (!status) {
        make_one(&tree);
        add_to_parents(&tree);
        status = add_up(ops, &tree);
    }
    free(tree.nodes);
    return status;
}

void tb_ops_finish(struct tb_ops *ops)
{
    free(ops->rows);
    *ops = (struct tb_ops){.rows = NULL};
}
