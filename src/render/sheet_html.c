// SPDX-License-Identifier: Apache-2.0
// A section is a card; values are tiles, tables have a caption and heads that a screen
// reader knows. All that comes from a run goes through markup_put().
#include "render/sheet_html.h"

#include <stdbool.h>
#include <string.h>

#include "answer/people_rows.h"
#include "render/markup_text.h"
#include "render/picture/chart.h"
#include "render/sheet_css.h"
#include "render/verdict_html.h"

// What of a page is open.
enum open_part { OPEN_NOTHING, OPEN_LIST, OPEN_TILES };

struct html {
    FILE *out;
    bool has_values;
    bool in_card;
    enum open_part part;
};

static void put_element(const struct html *html, const char *name, const char *text)
{
    fprintf(html->out, "<%s>", name);
    markup_put(html->out, text);
    fprintf(html->out, "</%.*s>\n", (int)strcspn(name, " "), name);
}

static void open_part(struct html *html, enum open_part part)
{
    static const char *const begin[] = {
        [OPEN_NOTHING] = "", [OPEN_LIST] = "<ul>\n", [OPEN_TILES] = "<dl class=\"tiles\">\n"};
    static const char *const end[] = {
        [OPEN_NOTHING] = "", [OPEN_LIST] = "</ul>\n", [OPEN_TILES] = "</dl>\n"};
    if (html->part == part)
        return;
    fputs(end[html->part], html->out);
    fputs(begin[part], html->out);
    html->part = part;
}

static void end_card(struct html *html)
{
    open_part(html, OPEN_NOTHING);
    if (html->in_card)
        fputs("</section>\n", html->out);
    html->in_card = false;
}

static void begin_card(struct html *html, const char *attributes)
{
    end_card(html);
    fprintf(html->out, "<section%s>\n", attributes);
    html->in_card = true;
}

// --- single nodes ----------------------------------------------------------------------

// A file alone loads nothing and runs nothing.
static const struct html_frame alone = {
    .head = "<meta http-equiv=\"Content-Security-Policy\" "
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    .top = "",
};

static void put_head(const struct html *html, const struct html_frame *frame, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          html->out);
    fprintf(html->out, "%s<title>", frame->head);
    markup_put(html->out, title);
    fputs(" - gait</title>\n<style>\n", html->out);
    fputs(chart_css, html->out);
    fputs(sheet_css, html->out);
    fprintf(html->out, "</style>\n</head>\n<body>\n%s<main>\n", frame->top);
}

static void put_title(struct html *html, const struct node *node)
{
    fputs("<header>\n", html->out);
    put_element(html, "h1", node->label);
    if (node->text)
        put_element(html, "p class=\"faint\"", node->text);
    fputs("</header>\n", html->out);
}

static void put_section(struct html *html, const struct node *node)
{
    begin_card(html, "");
    put_element(html, "h2", node->label);
    if (node->text && *node->text)
        put_element(html, "p", node->text);
}

static void put_said(struct html *html, const struct node *node)
{
    static const char *const elements[] = {
        [SAY_PARAGRAPH] = "p",
        [SAY_ITEM] = "li",
        [SAY_BULLET] = "li",
        [SAY_ALERT] = "p class=\"alert\" role=\"note\"",
        [SAY_LEAD] = "p class=\"faint\"",
    };
    const bool is_item = node->how == SAY_ITEM || node->how == SAY_BULLET;
    if (node->how == SAY_LINES) {
        begin_card(html, "");
        fputs("<pre tabindex=\"0\">", html->out);
        markup_put_lines(html->out, node->text);
        fputs("</pre>\n", html->out);
        return;
    }
    if (node->how == SAY_ALERT)
        end_card(html);
    open_part(html, is_item ? OPEN_LIST : OPEN_NOTHING);
    put_element(html, elements[node->how], node->text);
}

static void put_verdict(struct html *html, const struct node *node)
{
    end_card(html);
    verdict_html_put(node->verdict, html->out);
    html->in_card = true;
}

static void put_command(struct html *html, const struct node *node)
{
    open_part(html, OPEN_NOTHING);
    fputs("<p>See: ", html->out);
    put_element(html, "code", node->text);
    fputs("</p>\n", html->out);
}

static void put_value(struct html *html, const struct node *node)
{
    char room[VALUE_TEXT_BYTES];
    open_part(html, OPEN_TILES);
    fputs("<div>", html->out);
    put_element(html, "dt", node->label);
    fputs("<dd>", html->out);
    markup_put(html->out, value_show(node->value, node->unit, VALUE_WHOLE, room));
    if (node->text) {
        fputs(" <small>", html->out);
        markup_put(html->out, node->text);
        fputs("</small>", html->out);
    }
    fputs("</dd></div>\n", html->out);
}

// --- tables ----------------------------------------------------------------------------

static void put_bar(FILE *out, double share)
{
    fputs("<td class=\"bar\">", out);
    if (share >= 0.001)
        fprintf(out, "<i style=\"width:%.1f%%\"></i>", 100 * share);
    fputs("</td>", out);
}

static void put_cell(const struct html *html, const struct column *column, struct value value,
                     bool is_first)
{
    FILE *out = html->out;
    char room[VALUE_TEXT_BYTES];
    const char *text = value_show(value, column->unit, VALUE_WHOLE, room);
    const char *name = is_first ? "th scope=\"row\"" : "td";
    fprintf(out, "<%s%s", name, column->flags & COLUMN_LEFT ? " class=\"words\"" : "");
    if (html->has_values && value_is_number(value))
        fprintf(out, " data-value=\"%.17g\"", value_number(value));
    fputc('>', out);
    markup_put(out, text);
    fprintf(out, "</%.2s>", name);
}

static void put_row(const struct html *html, const struct table *table, const struct value *cells,
                    const struct people_rows *rows)
{
    bool is_first = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        if (column->flags & COLUMN_BAR)
            put_bar(html->out, people_rows_bar(rows, cells[i]));
        else
            put_cell(html, column, people_rows_cell(table, cells, i), is_first);
        is_first = false;
    }
    fputs("</tr>\n", html->out);
}

static void put_labels(FILE *out, const struct table *table)
{
    fputs("<thead><tr>", out);
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        const char *words = column->flags & COLUMN_LEFT ? " class=\"words\"" : "";
        if (*column->label)
            fprintf(out, "<th scope=\"col\"%s>%s</th>", words, column->label);
        else
            fprintf(out, "<td%s></td>", words);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static size_t shown(const struct table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += table->columns[i].label != NULL;
    return count;
}

static void put_rows(const struct html *html, const struct table *table,
                     const struct people_rows *rows)
{
    FILE *out = html->out;
    for (size_t i = 0; i < rows->count; i++) {
        const struct people_row *row = &rows->rows[i];
        fputs(row->kind == PEOPLE_TOTAL ? "<tr class=\"total\">" : "<tr>", out);
        if (row->kind == PEOPLE_MORE)
            fprintf(out, "<td class=\"words\" colspan=\"%zu\">%s</td></tr>\n", shown(table),
                    rows->left_out);
        else
            put_row(html, table, row->cells, rows);
    }
}

static int put_table(struct html *html, const struct node *nodes, size_t at)
{
    struct people_rows rows;
    int status = people_rows_choose(nodes, at, &rows);
    if (status)
        return status;
    begin_card(html, "");
    fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", html->out);
    markup_put(html->out, nodes[at].label);
    fputs("\"><table>\n", html->out);
    put_element(html, "caption", nodes[at].label);
    put_labels(html->out, nodes[at].table);
    put_rows(html, nodes[at].table, &rows);
    fputs("</tbody></table></div>\n", html->out);
    people_rows_finish(&rows);
    return GAIT_OK;
}

static int put_picture(struct html *html, const struct node *nodes, size_t at)
{
    if (!chart_can_draw(&nodes[at]))
        return GAIT_OK;
    begin_card(html, "");
    put_element(html, "h2", nodes[at].label);
    return chart_put(html->out, nodes, at, false);
}

// --- all of it -------------------------------------------------------------------------

static int put_node(struct html *html, const struct node *nodes, size_t at)
{
    const struct node *node = &nodes[at];
    switch (node->kind) {
    case NODE_TITLE:
        put_title(html, node);
        break;
    case NODE_SECTION:
        put_section(html, node);
        break;
    case NODE_SAY:
        put_said(html, node);
        break;
    case NODE_COMMAND:
        put_command(html, node);
        break;
    case NODE_VERDICT:
        put_verdict(html, node);
        break;
    case NODE_VALUE:
        put_value(html, node);
        break;
    case NODE_SERIES:
    case NODE_PLOT:
        return put_picture(html, nodes, at);
    case NODE_TABLE:
        return put_table(html, nodes, at);
    default:
        break;
    }
    return GAIT_OK;
}

static const char *title_of(const struct node *nodes, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (nodes[at].kind == NODE_TITLE)
            return nodes[at].label;
    return "report";
}

int sheet_put_html(const struct sheet *sheet, FILE *out)
{
    return sheet_put_html_page(sheet, &alone, out);
}

int sheet_put_html_page(const struct sheet *sheet, const struct html_frame *frame, FILE *out)
{
    struct html html = {.out = out, .has_values = frame->has_values};
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    int status = sheet_status(sheet);
    if (status)
        return status;
    put_head(&html, frame, title_of(nodes, count));
    for (size_t at = 0; at < count && !status; at = node_next_flat(nodes, at))
        if (node_is_seen(&nodes[at]))
            status = put_node(&html, nodes, at);
    end_card(&html);
    fputs("</main>\n</body>\n</html>\n", out);
    return status;
}
