// SPDX-License-Identifier: Apache-2.0
// `gait modules`: the modules of a process as they called each other, and what each took.
#include <inttypes.h>
#include <stdio.h>

#include "analyse/modules/module_tree.h"
#include "answer/answers.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

struct modules_values {
    int64_t depth;
};

enum { NAME_BYTES = 400, MOST_INDENT = 40 };

static const struct column columns[] = {
    {.label = "", .width = 24, .flags = COLUMN_LEFT},
    {.key = "calls", .label = "calls", .unit = UNIT_COUNT, .width = 7},
    {.key = "forward_ns", .label = "forward", .unit = UNIT_NS, .width = 9},
    {.key = "self_ns", .label = "self", .unit = UNIT_NS, .width = 9},
    {.key = "backward_ns", .label = "backward", .unit = UNIT_NS, .width = 10},
    {.key = "device_ns", .label = "device", .unit = UNIT_NS, .width = 9},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 8},
    {.key = "name"},
    {.key = "class"},
    {.key = "depth"},
    {.key = "id"},
    {.key = "parent"},
    {.key = "recomputed"},
    {.key = "recomputed_ns"},
    {.key = "backward_self_ns"},
    {.key = "device_self_ns"},
    {.key = "ops"},
};
static const struct table table = {
    .key = "modules", .heading = "Modules", COLUMNS_ARE(columns), .most = 60, .more = "more"};

// By one column, for names have little room.
static void print_name(const struct module_node *node, char out[NAME_BYTES])
{
    const uint32_t indent = node->depth - 1;
    snprintf(out, NAME_BYTES, "%*s%s", (int)(indent < MOST_INDENT ? indent : MOST_INDENT), "",
             node->name);
}

static void put_node(struct sheet *sheet, const struct module_tree *tree, uint32_t number,
                     uint64_t whole_ns)
{
    const struct module_node *node = &tree->nodes[number];
    const uint64_t forward_ns = node->ns[MODULE_FORWARD], own_ns = node->ns[MODULE_BACKWARD];
    uint64_t device_ns = 0;
    char name[NAME_BYTES];
    print_name(node, name);
    for (unsigned pass = 0; pass < MODULE_PASSES; pass++)
        device_ns += node->device_ns[pass];
    const struct value cells[] = {
        value_text(name),
        value_uint(node->calls[MODULE_FORWARD]),
        value_uint(forward_ns),
        value_uint(forward_ns > node->inside_ns ? forward_ns - node->inside_ns : 0),
        value_uint(node->backward_ns),
        value_if(tree->has_device, value_uint(node->all_device_ns)),
        value_share(forward_ns + node->backward_ns, whole_ns),
        value_text(node->name),
        value_text(node->kind),
        value_uint(node->depth),
        value_uint(number),
        value_if(node->parent != MODULE_NONE, value_uint(node->parent)),
        value_uint(node->calls[MODULE_CHECKPOINT]),
        value_uint(node->ns[MODULE_CHECKPOINT]),
        value_uint(own_ns),
        value_if(tree->has_device, value_uint(device_ns)),
        value_uint(node->ops),
    };
    sheet_row(sheet, cells, 0);
}

// Of a part of a run those alone that have something in it.
static bool is_listed(const struct asked *asked, const struct module_node *node)
{
    return !asked->chosen || node->is_told;
}

static void put_tree(struct sheet *sheet, const struct asked *asked, const struct module_tree *tree)
{
    const struct modules_values *values = asked->values;
    uint64_t whole_ns = tree->step_ns;
    if (!whole_ns && tree->end_ns > tree->begin_ns)
        whole_ns = (uint64_t)tree->end_ns - (uint64_t)tree->begin_ns;
    sheet_put(sheet, "whole_ns", value_uint(whole_ns));
    sheet_put(sheet, "steps", value_uint(tree->step_count));
    sheet_table(sheet, &table);
    for (uint32_t i = module_tree_next(tree, 0); i; i = module_tree_next(tree, i))
        if ((!values->depth || tree->nodes[i].depth <= (uint64_t)values->depth) &&
            is_listed(asked, &tree->nodes[i]))
            put_node(sheet, tree, i, whole_ns);
    sheet_end(sheet);
}

static void say_apart(struct sheet *sheet, const struct module_tree *tree)
{
    const struct module_node *root = &tree->nodes[MODULE_NONE];
    uint64_t recomputed_ns = 0, roots_device_ns = 0;
    char text[240];
    for (size_t i = 1; i < tree->count; i++) {
        if (tree->nodes[i].parent == MODULE_NONE)
            roots_device_ns += tree->nodes[i].all_device_ns;
        if (!tree->nodes[tree->nodes[i].parent].calls[MODULE_CHECKPOINT])
            recomputed_ns += tree->nodes[i].ns[MODULE_CHECKPOINT];
    }
    sheet_put(sheet, "outside_backward_ns", value_uint(root->ns[MODULE_BACKWARD]));
    if (tree->has_device)
        sheet_put(sheet, "outside_device_ns", value_uint(root->all_device_ns - roots_device_ns));
    if (recomputed_ns) {
        snprintf(text, sizeof text,
                 "%s of the backward are forwards made anew, as checkpointing has it.",
                 units_ns((int64_t)recomputed_ns).text);
        sheet_say(sheet, SAY_PARAGRAPH, text);
    }
    if (root->ns[MODULE_BACKWARD]) {
        snprintf(text, sizeof text, "%s of the backward belong to no module.",
                 units_ns((int64_t)root->ns[MODULE_BACKWARD]).text);
        sheet_say(sheet, SAY_PARAGRAPH, text);
    }
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct module_wish wish = {.chosen = asked->chosen};
    struct module_tree tree = {.count = 0};
    struct gait_shard_info shard = {.rank = -1};
    size_t listed = 0;
    char text[160];
    int status = module_tree_first(asked->trace, &wish.shard, &shard);
    if (!status)
        status = module_tree_make(&tree, asked->trace, &wish);
    if (!status && tree.count < 2)
        status = fail(GAIT_ERR_MISSING,
                      "no modules are on record there: torch.profiler writes them with "
                      "with_stack=True, gait.torch.profile with with_modules=True");
    if (!status) {
        for (size_t i = 1; i < tree.count; i++)
            listed += is_listed(asked, &tree.nodes[i]);
        snprintf(text, sizeof text, "%zu module%s of process %" PRId64, listed,
                 units_plural(listed), shard.pid);
        sheet_title(sheet, asked->path, text);
        sheet_put(sheet, "rank", value_rank(shard.rank));
        put_tree(sheet, asked, &tree);
        say_apart(sheet, &tree);
    }
    module_tree_finish(&tree);
    return status;
}

#define AT(field) offsetof(struct modules_values, field)
static const struct option options[] = {
    {NUMBER_ROW(0, "depth", "N", 1, INT32_MAX, AT(depth),
                "only modules that are nested so deep; 1: those that no other calls")},
};

const struct answer modules_answer = {
    .summary = "Shows the modules of a training as a tree: calls, time of forward and backward, "
               "time on devices, share of the steps.",
    .about =
        {"A module has a row for each place from which it was called. Forward is the time of its "
         "calls, self without the modules inside, backward that of the autograd nodes that its ops "
         "made, found by their sequence number, and of the modules inside. Device is the time of "
         "the "
         "kernels, copies and memsets that its ops began, forward and backward. The share is that "
         "of "
         "forward and backward in the steps, or in the time of all ops where no steps are on "
         "record.",
         CHOICE_COUNTS,
         "torch.profiler tells modules by class and number (Conv2d_0), gait by their paths."},
    .examples = {{"gait modules trace.json",
                  "Which modules took the time, from a profile with_stack=True."},
                 {"gait modules --depth 2 run1",
                  "The modules of the model, without those inside."}},
    OPTIONS_ARE(options),
    .is_rare = true,
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
