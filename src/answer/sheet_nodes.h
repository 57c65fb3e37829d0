// SPDX-License-Identifier: Apache-2.0
// What a sheet holds, for those who print it: a row of nodes in the order in which they
// were said. An object, a table and a row of a table end with a NODE_END of their own.
#ifndef GAIT_ANSWER_SHEET_NODES_H
#define GAIT_ANSWER_SHEET_NODES_H

#include "answer/sheet.h"
#include "answer/sheet_plot.h"

enum node_kind {
    NODE_TITLE,   // label, text
    NODE_SECTION, // label, text
    NODE_SAY,     // how, text
    NODE_COMMAND, // text
    NODE_MORE,    // text
    NODE_VERDICT, // verdict
    NODE_VALUE,   // key, label, unit, value, text (the remark)
    NODE_SERIES,  // series, points, count
    NODE_PLOT,    // plot
    NODE_OBJECT,  // key; up to `end`
    NODE_TABLE,   // table, label (its heading), count (rows); up to `end`
    NODE_ROW,     // cells, flags; up to `end`
    NODE_END,
};

struct node_verdict {
    struct sheet_verdict says;
    const struct sheet_bar *bars;
    size_t bar_count;
    const char *scale;
};

struct node {
    enum node_kind kind;
    bool is_folded;
    size_t end; // place of the NODE_END of what begins here
    const char *key, *label, *text;
    union {
        enum say how;
        const struct node_verdict *verdict;
        struct {
            enum unit unit;
            struct value value;
        };
        struct {
            const struct series *series;
            const struct point *points;
        };
        const struct plot *plot;
        const struct table *table;
        struct {
            const struct value *cells;
            unsigned flags;
        };
    };
    size_t count;
};

const struct node *sheet_nodes(const struct sheet *sheet, size_t *ret_count);

// The keys that lead to a node: "ranks.phases".
enum { NODE_NAME_BYTES = 200 };
void node_name(const struct node *nodes, size_t at, char name[NODE_NAME_BYTES]);

// The place behind a node and all that it holds.
static inline size_t node_next(const struct node *nodes, size_t at)
{
    return nodes[at].end ? nodes[at].end + 1 : at + 1;
}

// What only pages and pictures show.
static inline bool node_is_picture(const struct node *node)
{
    return node->kind == NODE_SERIES || node->kind == NODE_PLOT;
}

// Whether people see something of a node.
static inline bool node_is_seen(const struct node *node)
{
    const bool needs_label =
        node->kind == NODE_VALUE || node->kind == NODE_TABLE || node_is_picture(node);
    if (node->kind == NODE_OBJECT || node->kind == NODE_ROW || node->kind == NODE_END ||
        node->kind == NODE_MORE)
        return false;
    return !needs_label || node->label;
}

// The next node, inside of an object, too, but not inside of a table.
static inline size_t node_next_flat(const struct node *nodes, size_t at)
{
    return nodes[at].kind == NODE_OBJECT ? at + 1 : node_next(nodes, at);
}

#endif
