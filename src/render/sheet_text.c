// SPDX-License-Identifier: Apache-2.0
// What has no label and no heading is not for people. Values that follow each other
// share a line: "  p50 8.11 ms   p95 9.02 ms".
#define _GNU_SOURCE
#include "render/sheet_text.h"

#include <string.h>

#include "answer/sheet_nodes.h"
#include "render/plain.h"
#include "render/spark_text.h"
#include "render/table_text.h"
#include "render/verdict_text.h"

enum { INDENT = 2, WIDEST = PLAIN_COLUMNS / 2, SPARK = 40 };

struct text {
    FILE *out;
    const struct text_look *look;
    unsigned columns;       // of a line
    unsigned value_columns; // of the line of values that is open; 0: none is
    bool is_behind_line;    // what came last was a section that is all in its line
};

static void put_bold(const struct text *text, const char *words)
{
    text_look_put_bold(text->look, words, text->out);
}

static void wrap(const struct text *text, const char *words, unsigned indent, unsigned at)
{
    plain_flow(text->out, words, (struct plain_room){text->columns, indent, at});
    fputc('\n', text->out);
}

static void end_values(struct text *text)
{
    if (text->value_columns)
        fputc('\n', text->out);
    text->value_columns = 0;
}

// --- single nodes ----------------------------------------------------------------------

static void put_title(const struct text *text, const struct node *node)
{
    if (!node->text)
        return;
    plain_put_all(text->out, node->label);
    fputc('\n', text->out);
    wrap(text, node->text, 0, 0);
}

// Sections that are all in their line stand below each other.
static void put_section(const struct text *text, const struct node *node)
{
    const unsigned indent = plain_width(node->label, WIDEST) + 2;
    if (!text->is_behind_line || !node->text || !*node->text)
        fputc('\n', text->out);
    put_bold(text, node->label);
    if (!node->text || !*node->text) {
        fputc('\n', text->out);
        return;
    }
    fputs("  ", text->out);
    wrap(text, node->text, indent, indent);
}

static void put_said(const struct text *text, const struct node *node)
{
    static const char *const starts[] = {[SAY_PARAGRAPH] = "  ",
                                         [SAY_ITEM] = "  ",
                                         [SAY_BULLET] = "  - ",
                                         [SAY_ALERT] = "",
                                         [SAY_LEAD] = ""};
    static const unsigned indents[] = {
        [SAY_PARAGRAPH] = 2, [SAY_ITEM] = 4, [SAY_BULLET] = 4, [SAY_ALERT] = 2, [SAY_LEAD] = 0};
    if (node->how == SAY_LINES) {
        plain_put_lines(text->out, node->text, "");
        return;
    }
    fputs(starts[node->how], text->out);
    wrap(text, node->text, indents[node->how], (unsigned)strlen(starts[node->how]));
}

static void put_value(struct text *text, const struct node *node)
{
    char room[VALUE_TEXT_BYTES];
    const char *words = value_show(node->value, node->unit, VALUE_WHOLE, room);
    const unsigned columns = plain_width(node->label, WIDEST) + 1 + plain_width(words, WIDEST) +
                             (node->text ? plain_width(node->text, WIDEST) + 3 : 0);
    if (text->value_columns + INDENT + 1 + columns > text->columns)
        end_values(text);
    const unsigned blanks = text->value_columns ? INDENT + 1 : INDENT;
    text->value_columns += blanks + columns;
    fprintf(text->out, "%*s", (int)blanks, "");
    plain_put_all(text->out, node->label);
    fputc(' ', text->out);
    plain_put_all(text->out, words);
    if (!node->text)
        return;
    fputs(" (", text->out);
    plain_put_all(text->out, node->text);
    fputc(')', text->out);
}

// "  Time of each step  _.-_^"
static void put_series(const struct text *text, const struct node *node)
{
    const unsigned used = 2 * INDENT + plain_width(node->label, WIDEST);
    const unsigned left = text->columns > used ? text->columns - used : 1;
    fprintf(text->out, "%*s", INDENT, "");
    plain_put_all(text->out, node->label);
    fprintf(text->out, "%*s", INDENT, "");
    spark_text_put(node, left < SPARK ? left : SPARK, text->out);
    fputc('\n', text->out);
}

// --- all of it -------------------------------------------------------------------------

static int put_node(struct text *text, const struct node *nodes, size_t at)
{
    const struct node *node = &nodes[at];
    if (!node_is_seen(node) || node->kind == NODE_PLOT ||
        (node->kind == NODE_TABLE && node->table->is_of_page))
        return GAIT_OK;
    if (node->kind == NODE_VALUE) {
        put_value(text, node);
        return GAIT_OK;
    }
    end_values(text);
    if (node->kind == NODE_TITLE)
        put_title(text, node);
    else if (node->kind == NODE_SECTION)
        put_section(text, node);
    else if (node->kind == NODE_SAY)
        put_said(text, node);
    else if (node->kind == NODE_COMMAND)
        fprintf(text->out, "  see: %s\n", node->text);
    else if (node->kind == NODE_VERDICT)
        verdict_text_put(&node->verdict->says, text->look, text->out);
    else if (node->kind == NODE_SERIES)
        put_series(text, node);
    text->is_behind_line = node->kind == NODE_SECTION && node->text && *node->text;
    return node->kind == NODE_TABLE ? table_text_put(nodes, at, text->look, text->out) : GAIT_OK;
}

// Whether a node is left out: asked to be, and something to see.
static bool is_left_out(const struct text *text, const struct node *node)
{
    return node->is_folded && !text->look->is_all && node_is_seen(node) && node->kind != NODE_PLOT;
}

int sheet_put_text(const struct sheet *sheet, const struct text_look *look, FILE *out)
{
    struct text text = {.out = out, .look = look, .columns = text_look_columns(look)};
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    const char *more = NULL;
    bool is_cut = false;
    int status = sheet_status(sheet);
    for (size_t at = 0; at < count && !status; at = node_next_flat(nodes, at)) {
        if (nodes[at].kind == NODE_MORE)
            more = nodes[at].text;
        else if (is_left_out(&text, &nodes[at]))
            is_cut = true;
        else
            status = put_node(&text, nodes, at);
    }
    end_values(&text);
    if (is_cut && more) {
        fputs("more: ", out);
        plain_put_all(out, more);
        fputc('\n', out);
    }
    return status;
}
