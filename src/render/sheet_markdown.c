// SPDX-License-Identifier: Apache-2.0
// Texts go through HTML's escapes, which Markdown knows, and what else it would read as
// markup gets a backslash: a name cannot become a link, a heading or a cell.
#define _GNU_SOURCE
#include "render/sheet_markdown.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer/people_rows.h"
#include "render/markup_text.h"
#include "render/plain.h"
#include "render/verdict_text.h"

struct markdown {
    FILE *out;
    bool in_values; // the list of values is open
};

// Some readers of Markdown make a link of "https://a" and "www.a", and a heading of "# a".
static bool begins_markup(const char *text, const char *at)
{
    return !strncmp(at, "://", 3) || (*at == '#' && at == text) ||
           (*at == '.' && at - text >= 3 && !strncasecmp(at - 3, "www", 3));
}

static void put_text(FILE *out, const char *text)
{
    char *escaped = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&escaped, &bytes);
    if (!memory)
        return;
    markup_put_between(memory, text);
    if (fclose(memory) == 0 && escaped)
        for (const char *at = escaped; *at; at++) {
            if (strchr("\\`*_{}[]|~@", *at) || begins_markup(escaped, at))
                fputc('\\', out);
            fputc(*at, out);
        }
    free(escaped);
}

static void put_heading(const struct markdown *markdown, const char *level, const char *heading)
{
    fprintf(markdown->out, "\n%s ", level);
    put_text(markdown->out, heading);
    fputs("\n\n", markdown->out);
}

static void put_value(struct markdown *markdown, const struct node *node)
{
    char room[VALUE_TEXT_BYTES];
    fputs(markdown->in_values ? ", " : "", markdown->out);
    markdown->in_values = true;
    put_text(markdown->out, node->label);
    fputs(" **", markdown->out);
    put_text(markdown->out, value_show(node->value, node->unit, VALUE_WHOLE, room));
    fputs("**", markdown->out);
    if (node->text) {
        fputs(" (", markdown->out);
        put_text(markdown->out, node->text);
        fputc(')', markdown->out);
    }
}

static bool is_shown(const struct column *column)
{
    return column->label && !(column->flags & COLUMN_BAR);
}

static void put_row(FILE *out, const struct table *table, const struct value *cells)
{
    char room[VALUE_TEXT_BYTES];
    for (size_t i = 0; i < table->count; i++) {
        if (!is_shown(&table->columns[i]))
            continue;
        fputs("| ", out);
        const struct value cell = people_rows_cell(table, cells, i);
        put_text(out, value_show(cell, table->columns[i].unit, VALUE_WHOLE, room));
        fputc(' ', out);
    }
    fputs("|\n", out);
}

static void put_head(FILE *out, const struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (is_shown(&table->columns[i])) {
            fputs("| ", out);
            put_text(out, table->columns[i].label);
            fputc(' ', out);
        }
    fputs("|\n", out);
    for (size_t i = 0; i < table->count; i++)
        if (is_shown(&table->columns[i]))
            fputs(table->columns[i].flags & COLUMN_LEFT ? "|---" : "|--:", out);
    fputs("|\n", out);
}

static int put_table(const struct markdown *markdown, const struct node *nodes, size_t at)
{
    const struct table *table = nodes[at].table;
    struct people_rows rows;
    bool is_cut = false;
    int status = people_rows_choose(nodes, at, &rows);
    if (status)
        return status;
    put_heading(markdown, "##", nodes[at].label);
    put_head(markdown->out, table);
    for (size_t i = 0; i < rows.count; i++) {
        is_cut = is_cut || rows.rows[i].kind == PEOPLE_MORE;
        if (rows.rows[i].cells)
            put_row(markdown->out, table, rows.rows[i].cells);
    }
    if (is_cut)
        fprintf(markdown->out, "\n%s\n", rows.left_out);
    people_rows_finish(&rows);
    return GAIT_OK;
}

static void put_list(FILE *out, const char *name, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "- %s: ", name);
        put_text(out, texts[i]);
        fputc('\n', out);
    }
}

static void put_try(FILE *out, const struct sheet_try *what)
{
    char room[CEILING_BYTES];
    fputs("- try: ", out);
    put_text(out, what->text);
    if (what->ceiling > 0)
        fprintf(out, " (**%s**)", verdict_text_ceiling(what->ceiling, room));
    fputc('\n', out);
}

static void put_verdict(const struct markdown *markdown, const struct sheet_verdict *verdict)
{
    FILE *out = markdown->out;
    if (verdict->front) {
        fputc('\n', out);
        put_text(out, verdict->front);
        fputc('\n', out);
    }
    fputs("\n**", out);
    put_text(out, verdict->label);
    fputs("**: ", out);
    put_text(out, verdict->why);
    fputs(verdict->try_count + verdict->not_count + verdict->but_count ? "\n\n" : "\n", out);
    for (size_t i = 0; i < verdict->try_count; i++)
        put_try(out, &verdict->tries[i]);
    put_list(out, "not", verdict->nots, verdict->not_count);
    put_list(out, "but", verdict->buts, verdict->but_count);
}

static void put_said(const struct markdown *markdown, const struct node *node)
{
    const bool is_item = node->how == SAY_BULLET || node->how == SAY_ITEM;
    if (node->how == SAY_LINES) {
        fputc('\n', markdown->out);
        plain_put_lines(markdown->out, node->text, "    ");
        return;
    }
    fputs(is_item ? "- " : "\n", markdown->out);
    put_text(markdown->out, node->text);
    fputc('\n', markdown->out);
}

static void put_named(const struct markdown *markdown, const struct node *node)
{
    put_heading(markdown, node->kind == NODE_TITLE ? "#" : "##", node->label);
    if (!node->text || !*node->text)
        return;
    put_text(markdown->out, node->text);
    fputc('\n', markdown->out);
}

static int put_node(struct markdown *markdown, const struct node *nodes, size_t at)
{
    const struct node *node = &nodes[at];
    if (!node_is_seen(node) || node_is_picture(node))
        return GAIT_OK;
    if (node->kind == NODE_VALUE) {
        put_value(markdown, node);
        return GAIT_OK;
    }
    if (markdown->in_values)
        fputs("\n", markdown->out);
    markdown->in_values = false;
    if (node->kind == NODE_TITLE || node->kind == NODE_SECTION)
        put_named(markdown, node);
    else if (node->kind == NODE_SAY)
        put_said(markdown, node);
    else if (node->kind == NODE_COMMAND)
        fprintf(markdown->out, "\n    %s\n", node->text);
    else if (node->kind == NODE_VERDICT)
        put_verdict(markdown, &node->verdict->says);
    return node->kind == NODE_TABLE ? put_table(markdown, nodes, at) : GAIT_OK;
}

int sheet_put_markdown(const struct sheet *sheet, FILE *out)
{
    struct markdown markdown = {.out = out};
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    int status = sheet_status(sheet);
    for (size_t at = 0; at < count && !status; at = node_next_flat(nodes, at))
        status = put_node(&markdown, nodes, at);
    if (markdown.in_values)
        fputc('\n', out);
    return status;
}
