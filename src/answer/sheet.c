// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "answer/sheet_nodes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_DEPTH = 16, MOST_NODES = 1 << 26 };
#define MOST_BYTES ((size_t)4 << 30)

struct sheet {
    struct arena arena;
    struct node *nodes;
    size_t count, capacity;
    size_t open[MOST_DEPTH]; // places of objects, tables and rows that have not ended
    unsigned depth;
    bool is_folded;               // what is added
    struct node_verdict *verdict; // the last one; NULL: there is none
    FILE *lines;                  // between sheet_lines_begin() and sheet_lines_end()
    char *lines_text;
    size_t lines_bytes;
    int status;
};

static const char no_memory[] = "no memory for an answer";

int sheet_new(struct sheet **ret_sheet)
{
    *ret_sheet = calloc(1, sizeof **ret_sheet);
    if (!*ret_sheet)
        return fail(GAIT_ERR_MEMORY, no_memory);
    arena_init(&(*ret_sheet)->arena, MOST_BYTES);
    return GAIT_OK;
}

void sheet_drop(struct sheet *sheet)
{
    if (!sheet)
        return;
    arena_finish(&sheet->arena);
    free(sheet->nodes);
    free(sheet);
}

int sheet_status(const struct sheet *sheet)
{
    assert(sheet->status || !sheet->depth);
    return sheet->status;
}

const struct node *sheet_nodes(const struct sheet *sheet, size_t *ret_count)
{
    *ret_count = sheet->count;
    return sheet->nodes;
}

void node_name(const struct node *nodes, size_t at, char name[NODE_NAME_BYTES])
{
    *name = '\0';
    for (size_t i = 0; i <= at; i++) {
        const struct node *node = &nodes[i];
        if (!node->key || (i != at && node->end < at))
            continue;
        const size_t used = strlen(name);
        snprintf(name + used, NODE_NAME_BYTES - used, "%s%s", used ? "." : "", node->key);
    }
}

// NULL stays NULL, and is what the caller gets when memory is out, too.
static const char *keep(struct sheet *sheet, const char *text)
{
    if (!text || sheet->status)
        return NULL;
    const char *kept = arena_text(&sheet->arena, text, strlen(text));
    if (!kept)
        sheet->status = fail(GAIT_ERR_MEMORY, no_memory);
    return kept;
}

// A copy of rows; NULL: no memory, as the sheet notes, or there are none.
static void *keep_rows(struct sheet *sheet, const void *rows, size_t bytes)
{
    void *kept = bytes && !sheet->status ? arena_take(&sheet->arena, bytes) : NULL;
    if (kept)
        memcpy(kept, rows, bytes);
    else if (bytes && !sheet->status)
        sheet->status = fail(GAIT_ERR_MEMORY, no_memory);
    return kept;
}

static struct value keep_value(struct sheet *sheet, struct value value)
{
    if (value.kind == VALUE_TEXT || value.kind == VALUE_JSON)
        value.text = keep(sheet, value.text);
    return value;
}

static void add(struct sheet *sheet, const struct node *node)
{
    if (sheet->status)
        return;
    sheet->status =
        array_reserve((void **)&sheet->nodes, &sheet->capacity, sheet->count + 1,
                      (struct array_shape){.item_bytes = sizeof *node, .limit = MOST_NODES});
    if (sheet->status)
        return;
    sheet->nodes[sheet->count] = *node;
    sheet->nodes[sheet->count++].is_folded = sheet->is_folded;
}

// Adds what holds others, until close_last().
static void add_open(struct sheet *sheet, const struct node *node)
{
    assert(sheet->depth < MOST_DEPTH);
    add(sheet, node);
    if (!sheet->status)
        sheet->open[sheet->depth++] = sheet->count - 1;
}

static void close_last(struct sheet *sheet)
{
    const size_t end = sheet->count;
    add(sheet, &(struct node){.kind = NODE_END});
    if (!sheet->status)
        sheet->nodes[sheet->open[--sheet->depth]].end = end;
}

static bool is_in(const struct sheet *sheet, enum node_kind kind)
{
    return !sheet->status && sheet->depth &&
           sheet->nodes[sheet->open[sheet->depth - 1]].kind == kind;
}

void sheet_title(struct sheet *sheet, const char *title, const char *summary)
{
    const struct node node = {
        .kind = NODE_TITLE, .label = keep(sheet, title), .text = keep(sheet, summary)};
    add(sheet, &node);
}

void sheet_section(struct sheet *sheet, const char *heading, const char *summary)
{
    const struct node node = {
        .kind = NODE_SECTION, .label = keep(sheet, heading), .text = keep(sheet, summary)};
    add(sheet, &node);
}

void sheet_say(struct sheet *sheet, enum say how, const char *text)
{
    const struct node node = {.kind = NODE_SAY, .how = how, .text = keep(sheet, text)};
    add(sheet, &node);
}

FILE *sheet_lines_begin(struct sheet *sheet)
{
    assert(!sheet->lines);
    sheet->lines = open_memstream(&sheet->lines_text, &sheet->lines_bytes);
    if (!sheet->lines && !sheet->status)
        sheet->status = fail(GAIT_ERR_MEMORY, no_memory);
    return sheet->lines;
}

void sheet_lines_end(struct sheet *sheet)
{
    if (!sheet->lines)
        return;
    const bool is_whole = fclose(sheet->lines) == 0;
    sheet->lines = NULL;
    if (!is_whole && !sheet->status)
        sheet->status = fail(GAIT_ERR_MEMORY, no_memory);
    else if (sheet->lines_bytes)
        sheet_say(sheet, SAY_LINES, sheet->lines_text);
    free(sheet->lines_text);
    sheet->lines_text = NULL;
}

void sheet_command(struct sheet *sheet, const char *command)
{
    const struct node node = {.kind = NODE_COMMAND, .text = keep(sheet, command)};
    add(sheet, &node);
}

void sheet_fold(struct sheet *sheet, bool is_folded)
{
    sheet->is_folded = is_folded;
}

void sheet_more(struct sheet *sheet, const char *command)
{
    const struct node node = {.kind = NODE_MORE, .text = keep(sheet, command)};
    add(sheet, &node);
}

void sheet_value(struct sheet *sheet, const char *key, const char *label, enum unit unit,
                 struct value value)
{
    const struct node node = {.kind = NODE_VALUE,
                              .key = keep(sheet, key),
                              .label = keep(sheet, label),
                              .unit = unit,
                              .value = keep_value(sheet, value)};
    add(sheet, &node);
}

void sheet_put(struct sheet *sheet, const char *key, struct value value)
{
    sheet_value(sheet, key, NULL, UNIT_NONE, value);
}

void sheet_remark(struct sheet *sheet, const char *text)
{
    text = keep(sheet, text);
    if (!sheet->status)
        sheet->nodes[sheet->count - 1].text = text;
}

void sheet_table(struct sheet *sheet, const struct table *table)
{
    const struct node node = {
        .kind = NODE_TABLE, .key = table->key, .label = table->heading, .table = table};
    add_open(sheet, &node);
}

void sheet_table_copy(struct sheet *sheet, const struct table *table)
{
    const size_t bytes = table->count * sizeof *table->columns;
    struct table *copy = arena_take(&sheet->arena, sizeof *copy);
    struct column *columns = arena_take(&sheet->arena, bytes);
    if ((!copy || !columns) && !sheet->status)
        sheet->status = fail(GAIT_ERR_MEMORY, no_memory);
    if (sheet->status)
        return;
    memcpy(columns, table->columns, bytes);
    *copy = *table;
    copy->columns = columns;
    sheet_table(sheet, copy);
}

void sheet_heading(struct sheet *sheet, const char *heading)
{
    heading = keep(sheet, heading);
    if (is_in(sheet, NODE_TABLE))
        sheet->nodes[sheet->open[sheet->depth - 1]].label = heading;
}

void sheet_row(struct sheet *sheet, const struct value *cells, unsigned flags)
{
    if (is_in(sheet, NODE_ROW))
        close_last(sheet);
    if (!is_in(sheet, NODE_TABLE))
        return;
    struct node *table = &sheet->nodes[sheet->open[sheet->depth - 1]];
    const size_t count = table->table->count;
    struct value *kept = arena_take(&sheet->arena, count * sizeof *kept);
    table->count++;
    if (!kept)
        sheet->status = fail(GAIT_ERR_MEMORY, no_memory);
    for (size_t i = 0; i < count && !sheet->status; i++)
        kept[i] = keep_value(sheet, cells[i]);
    const struct node node = {.kind = NODE_ROW, .cells = kept, .flags = flags, .count = count};
    add_open(sheet, &node);
}

void sheet_series(struct sheet *sheet, const struct series *series, const struct point *points,
                  size_t count)
{
    if (sheet->status)
        return;
    const struct point *kept = keep_rows(sheet, points, count * sizeof *kept);
    const struct node node = {.kind = NODE_SERIES,
                              .key = series->key,
                              .label = series->heading,
                              .series = series,
                              .points = kept,
                              .count = count};
    add(sheet, &node);
}

void sheet_plot(struct sheet *sheet, const struct plot *plot)
{
    struct plot *copy = keep_rows(sheet, plot, sizeof *plot);
    struct plot_line *lines = keep_rows(sheet, plot->lines, plot->count * sizeof *lines);
    for (size_t i = 0; i < plot->count && !sheet->status; i++) {
        lines[i].name = keep(sheet, lines[i].name);
        lines[i].points =
            keep_rows(sheet, lines[i].points, lines[i].count * sizeof *lines[i].points);
    }
    if (sheet->status)
        return;
    copy->lines = lines;
    copy->key = keep(sheet, plot->key);
    copy->heading = keep(sheet, plot->heading);
    copy->x_label = keep(sheet, plot->x_label);
    copy->y_label = keep(sheet, plot->y_label);
    copy->rest = keep(sheet, plot->rest);
    const struct node node = {
        .kind = NODE_PLOT, .key = copy->key, .label = copy->heading, .plot = copy};
    add(sheet, &node);
}

void sheet_object(struct sheet *sheet, const char *key)
{
    const struct node node = {.kind = NODE_OBJECT, .key = keep(sheet, key)};
    add_open(sheet, &node);
}

void sheet_end(struct sheet *sheet)
{
    if (is_in(sheet, NODE_ROW))
        close_last(sheet);
    if (!sheet->status)
        close_last(sheet);
}

// --- the verdict -----------------------------------------------------------------------

static const char *const *keep_texts(struct sheet *sheet, const char *const *texts, size_t count)
{
    const char **kept = keep_rows(sheet, texts, count * sizeof *kept);
    for (size_t i = 0; i < count && !sheet->status; i++)
        kept[i] = keep(sheet, texts[i]);
    return kept;
}

static const struct sheet_try *keep_tries(struct sheet *sheet, const struct sheet_try *tries,
                                          size_t count)
{
    struct sheet_try *kept = keep_rows(sheet, tries, count * sizeof *kept);
    for (size_t i = 0; i < count && !sheet->status; i++)
        kept[i].text = keep(sheet, tries[i].text);
    return kept;
}

void sheet_verdict(struct sheet *sheet, const struct sheet_verdict *verdict)
{
    struct node_verdict said = {.says = *verdict};
    said.says.front = keep(sheet, verdict->front);
    said.says.label = keep(sheet, verdict->label);
    said.says.why = keep(sheet, verdict->why);
    said.says.kind = keep(sheet, verdict->kind);
    said.says.tries = keep_tries(sheet, verdict->tries, verdict->try_count);
    said.says.nots = keep_texts(sheet, verdict->nots, verdict->not_count);
    said.says.buts = keep_texts(sheet, verdict->buts, verdict->but_count);
    sheet->verdict = keep_rows(sheet, &said, sizeof said);
    add(sheet, &(struct node){.kind = NODE_VERDICT, .verdict = sheet->verdict});
}

static const struct sheet_bar_part *keep_parts(struct sheet *sheet, const struct sheet_bar *bar)
{
    struct sheet_bar_part *kept = keep_rows(sheet, bar->parts, bar->count * sizeof *kept);
    for (size_t i = 0; i < bar->count && !sheet->status; i++) {
        kept[i].name = keep(sheet, bar->parts[i].name);
        kept[i].kind = keep(sheet, bar->parts[i].kind);
    }
    return kept;
}

void sheet_bars(struct sheet *sheet, const struct sheet_bar *bars, size_t count, const char *scale)
{
    struct sheet_bar *kept = keep_rows(sheet, bars, count * sizeof *kept);
    const char *kept_scale = keep(sheet, scale);
    for (size_t i = 0; i < count && !sheet->status; i++) {
        kept[i].name = keep(sheet, bars[i].name);
        kept[i].parts = keep_parts(sheet, &bars[i]);
    }
    if (sheet->status || !sheet->verdict)
        return;
    sheet->verdict->bars = kept;
    sheet->verdict->bar_count = count;
    sheet->verdict->scale = kept_scale;
}
