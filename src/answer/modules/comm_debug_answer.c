// SPDX-License-Identifier: Apache-2.0
// People get the tree as lines, indented as CommDebugMode's table is; JSON has a row for each
// module, with tables inside of it under CommDebugMode's names.
#include "answer/modules/comm_debug_answer.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/modules/comm_debug.h"
#include "base/units.h"

enum { FQN_BYTES = 1024, MOST_INDENT = 48 };

static const char *const headings[MODULE_PASSES] = {"FORWARD PASS", "BACKWARD PASS",
                                                    "ACTIVATION CHECKPOINTING"};

static const struct column entry_columns[] = {
    {.key = "name"},  {.key = "count"},       {.key = "host_ns"},
    {.key = "bytes"}, {.key = "device_ns"},   {.key = "dtype"},
    {.key = "group"}, {.key = "input_shape"}, {.key = "own_count"},
};
#define ENTRIES(name) {.key = name, COLUMNS_ARE(entry_columns)}
static const struct table collective_tables[MODULE_PASSES] = {ENTRIES("collectives_forward"),
                                                              ENTRIES("collectives_backward"),
                                                              ENTRIES("collectives_checkpointing")};
static const struct table op_tables[MODULE_PASSES] = {ENTRIES("operations_forward"),
                                                      ENTRIES("operations_backward"),
                                                      ENTRIES("operations_checkpointing")};
static const struct column module_columns[] = {
    {.key = "fqn"}, {.key = "module_type"}, {.key = "depth"}, {.key = "id"}, {.key = "parent"},
};
static const struct table module_table = {.key = "modules", COLUMNS_ARE(module_columns)};

static bool is_shown(const struct comm_entry *entry, enum comm_noise noise)
{
    if (entry->is_collective)
        return true;
    return noise == NOISE_ALL || (noise == NOISE_OPS && !entry->is_trivial);
}

// Paths as they are on record; of names alone, one behind the other.
static void print_fqn(const struct module_tree *tree, uint32_t number, char out[FQN_BYTES])
{
    uint32_t path[64] = {0};
    size_t count = 0, used = 0;
    for (uint32_t i = number; i && count < 64; i = tree->nodes[i].parent) {
        path[count++] = i;
        if (tree->nodes[i].is_path)
            break;
    }
    snprintf(out, FQN_BYTES, "%s", number ? "" : "Global");
    while (count-- > 0 && used < FQN_BYTES) {
        const int bytes = snprintf(out + used, FQN_BYTES - used, "%s%s", used ? "." : "",
                                   tree->nodes[path[count]].name);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
}

// --- for people ------------------------------------------------------------------------

static void print_entry(FILE *out, int indent, const struct comm_entry *entry)
{
    fprintf(out, "%*s%s%s: %" PRIu64, indent, "", entry->is_collective ? "*" : "**", entry->name,
            entry->calls);
    if (entry->bytes)
        fprintf(out, ", %s", units_bytes(entry->bytes).text);
    if (entry->is_collective)
        fprintf(out, ", %s", units_ns((int64_t)entry->ns).text);
    if (entry->device_ns)
        fprintf(out, ", on the device %s", units_ns((int64_t)entry->device_ns).text);
    if (entry->dtype)
        fprintf(out, ", %s", entry->dtype);
    if (entry->group)
        fprintf(out, ", group %s", entry->group);
    fputc('\n', out);
    if (!entry->is_collective && entry->shapes)
        fprintf(out, "%*sshape: %.200s\n", indent + 2, "", entry->shapes);
}

static void print_pass(FILE *out, const struct comm_debug *debug, uint32_t node,
                       enum module_pass pass, enum comm_noise noise)
{
    const uint32_t depth = debug->tree.nodes[node].depth;
    const int indent = (int)(4 * depth < MOST_INDENT ? 4 * depth : MOST_INDENT);
    const struct comm_entry *range[2];
    bool has_heading = false;
    comm_debug_of(debug, node, pass, range);
    for (const struct comm_entry *entry = range[0]; entry < range[1]; entry++) {
        if (!is_shown(entry, noise))
            continue;
        if (!has_heading)
            fprintf(out, "%*s%s\n", indent + 2, "", headings[pass]);
        has_heading = true;
        print_entry(out, indent + 4, entry);
    }
}

static void print_tree(FILE *out, const struct comm_debug *debug, enum comm_noise noise)
{
    const struct module_tree *tree = &debug->tree;
    uint32_t number = 0;
    do {
        const struct module_node *node = &tree->nodes[number];
        const int indent = (int)(4 * node->depth < MOST_INDENT ? 4 * node->depth : MOST_INDENT);
        char fqn[FQN_BYTES];
        print_fqn(tree, number, fqn);
        fprintf(out, "%*s%s\n", indent, "", fqn);
        if (noise >= NOISE_MODULES && node->kind)
            fprintf(out, "%*s*module type: %s\n", indent, "", node->kind);
        for (unsigned pass = 0; pass < MODULE_PASSES; pass++)
            print_pass(out, debug, number, (enum module_pass)pass, noise);
        number = module_tree_next(tree, number);
    } while (number);
}

// --- for data --------------------------------------------------------------------------

static void put_entries(struct sheet *sheet, const struct table *table,
                        const struct comm_entry *const range[2], bool are_collectives,
                        enum comm_noise noise)
{
    sheet_table(sheet, table);
    for (const struct comm_entry *entry = range[0]; entry < range[1]; entry++) {
        if (entry->is_collective != are_collectives || !is_shown(entry, noise))
            continue;
        const struct value cells[] = {
            value_text(entry->name),
            value_uint(entry->calls),
            value_uint(entry->ns),
            value_if(entry->bytes > 0, value_uint(entry->bytes)),
            value_if(entry->device_ns > 0, value_uint(entry->device_ns)),
            value_text(entry->dtype),
            value_text(entry->group),
            value_text(entry->shapes),
            value_uint(entry->own_calls),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_module(struct sheet *sheet, const struct comm_debug *debug, uint32_t number,
                       enum comm_noise noise)
{
    const struct module_node *node = &debug->tree.nodes[number];
    const struct comm_entry *range[2];
    char fqn[FQN_BYTES];
    print_fqn(&debug->tree, number, fqn);
    const struct value cells[] = {
        value_text(fqn),
        value_text(noise >= NOISE_MODULES ? node->kind : NULL),
        value_uint(node->depth),
        value_uint(number),
        value_if(number > 0, value_uint(node->parent)),
    };
    sheet_row(sheet, cells, 0);
    for (unsigned pass = 0; pass < MODULE_PASSES; pass++) {
        comm_debug_of(debug, number, (enum module_pass)pass, range);
        put_entries(sheet, &collective_tables[pass], range, true, noise);
        put_entries(sheet, &op_tables[pass], range, false, noise);
    }
}

static void put_tree(struct sheet *sheet, const struct comm_debug *debug, enum comm_noise noise)
{
    uint32_t number = 0;
    sheet_table(sheet, &module_table);
    do {
        put_module(sheet, debug, number, noise);
        number = module_tree_next(&debug->tree, number);
    } while (number);
    sheet_end(sheet);
}

int comm_debug_answer_put(struct sheet *sheet, const struct asked *asked, enum comm_noise noise)
{
    struct comm_debug debug = {.count = 0};
    struct gait_shard_info shard = {.rank = -1};
    uint32_t number = 0;
    int status = module_tree_first(asked->trace, &number, &shard);
    if (!status)
        status = comm_debug_make(&debug, asked->trace, number);
    if (!status) {
        sheet_title(sheet, asked->path, NULL);
        sheet_put(sheet, "rank", value_rank(shard.rank));
        sheet_put(sheet, "noise_level", value_uint(noise));
        FILE *lines = sheet_lines_begin(sheet);
        if (lines)
            print_tree(lines, &debug, noise);
        sheet_lines_end(sheet);
        put_tree(sheet, &debug, noise);
    }
    comm_debug_finish(&debug);
    return status;
}
