// SPDX-License-Identifier: Apache-2.0
// Columns as wide as their widest cell, numbers to the right.
#include "render/leaf_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"

enum { COLUMNS = 8, CELL_BYTES = 4200, HEAD_ROOM = 2 };
enum { GROUP, NAME, PATH, LINE, LIBRARY_NAME, LIBRARY_PATH, LIBRARY_LINE, PROPORTION };

static const char *const heads[COLUMNS] = {
    "",
    "name",
    "path",
    "line",
    "library_function_name",
    "library_function_path",
    "library_function_line",
    "proportion (n)",
};

struct cell {
    char text[CELL_BYTES];
};

static bool has_column(const struct leaf_text *text, int column)
{
    if (column == GROUP)
        return text->group;
    return text->has_library || column < LIBRARY_NAME || column > LIBRARY_LINE;
}

// Characters, not bytes.
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

// What would break a line of the table becomes a blank.
static void put_clean(struct cell *cell, const char *text)
{
    snprintf(cell->text, sizeof cell->text, "%s", text);
    for (char *at = cell->text; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
}

static void put_line(struct cell *cell, const struct stack_frame *frame)
{
    if (frame->line)
        snprintf(cell->text, sizeof cell->text, "%" PRId32, frame->line);
    else
        cell->text[0] = '\0';
}

static void fill(const struct leaf_row *row, int column, struct cell *cell)
{
    if (column >= LIBRARY_NAME && column <= LIBRARY_LINE && !row->library)
        put_clean(cell, "Not Found");
    else if (column == GROUP)
        put_clean(cell, *row->group ? row->group : "-");
    else if (column == NAME || column == LIBRARY_NAME)
        put_clean(cell, column == NAME ? row->leaf->name : row->library->name);
    else if (column == PATH || column == LIBRARY_PATH)
        put_clean(cell, column == PATH ? row->leaf->path : row->library->path);
    else if (column == LINE || column == LIBRARY_LINE)
        put_line(cell, column == LINE ? row->leaf : row->library);
    else
        snprintf(cell->text, sizeof cell->text, "%.2f%% (%" PRIu64 ")", 100 * row->share,
                 row->count);
}

// True for the rows that are shown: so many of each group.
static bool is_shown(const struct leaf_text *text, size_t index, uint64_t *in_group)
{
    const struct leaf_row *rows = text->report->rows;
    if (index && strcmp(rows[index].group, rows[index - 1].group) != 0)
        *in_group = 0;
    return (*in_group)++ < text->rows;
}

// A column of numbers alone stands to the right.
static bool measure(const struct leaf_text *text, int column, int *ret_width)
{
    bool is_number = column == LINE || column == LIBRARY_LINE;
    uint64_t in_group = 0;
    struct cell cell;
    *ret_width = width_of(column == GROUP ? text->group : heads[column]) + HEAD_ROOM;
    for (size_t i = 0; i < text->report->count; i++) {
        if (!is_shown(text, i, &in_group))
            continue;
        fill(&text->report->rows[i], column, &cell);
        const int width = width_of(cell.text);
        *ret_width = width > *ret_width ? width : *ret_width;
        is_number = is_number && cell.text[strspn(cell.text, "-0123456789")] == '\0';
    }
    return is_number;
}

struct shape {
    int widths[COLUMNS];
    bool are_numbers[COLUMNS];
    int last;
};

static void put_cell(FILE *out, const struct shape *shape, int column, const char *words)
{
    const int blanks = shape->widths[column] - width_of(words);
    fprintf(out, " %*s%s", shape->are_numbers[column] ? blanks : 0, "", words);
    if (column != shape->last)
        fprintf(out, "%*s |", shape->are_numbers[column] ? 0 : blanks, "");
    else
        fputc('\n', out);
}

void leaf_text_put(FILE *out, const struct leaf_text *text)
{
    struct shape shape = {.last = PROPORTION};
    struct cell cell;
    uint64_t in_group = 0;
    bool is_first = true;
    for (int column = 0; column < COLUMNS; column++)
        if (has_column(text, column))
            shape.are_numbers[column] = measure(text, column, &shape.widths[column]);
    for (int column = 0; column < COLUMNS; column++)
        if (has_column(text, column))
            put_cell(out, &shape, column, column == GROUP ? text->group : heads[column]);
    for (int column = 0; column < COLUMNS; column++) {
        if (!has_column(text, column))
            continue;
        fputs(is_first ? "" : "+", out);
        is_first = false;
        for (int i = 0; i < shape.widths[column] + 2; i++)
            fputc('-', out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < text->report->count; i++) {
        const bool is_row = is_shown(text, i, &in_group);
        for (int column = 0; column < COLUMNS && is_row; column++) {
            if (!has_column(text, column))
                continue;
            fill(&text->report->rows[i], column, &cell);
            put_cell(out, &shape, column, cell.text);
        }
    }
}

static void put_place(struct json_writer *json, const struct stack_frame *frame, const char *prefix)
{
    char key[64];
    snprintf(key, sizeof key, "%sname", prefix);
    json_put_text(json, key, frame ? frame->name : NULL);
    snprintf(key, sizeof key, "%spath", prefix);
    json_put_text(json, key, frame ? frame->path : NULL);
    snprintf(key, sizeof key, "%sline", prefix);
    json_key(json, key);
    if (frame && frame->line)
        json_int(json, frame->line);
    else
        json_null(json);
}

void leaf_text_put_json(FILE *out, const struct leaf_text *text)
{
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    uint64_t in_group = 0;
    json_object(&json);
    json_put_uint(&json, "samples", text->report->samples);
    json_put_uint(&json, "samples_without_function", text->report->left_out);
    json_put_uint(&json, "bad_lines", text->set->bad_lines);
    json_key(&json, "rows");
    json_array(&json);
    for (size_t i = 0; i < text->report->count; i++) {
        const struct leaf_row *row = &text->report->rows[i];
        if (!is_shown(text, i, &in_group))
            continue;
        json_object(&json);
        if (text->group)
            json_put_text(&json, text->group, *row->group ? row->group : NULL);
        put_place(&json, row->leaf, "");
        if (text->has_library)
            put_place(&json, row->library, "library_function_");
        json_put_uint(&json, "samples", row->count);
        json_key(&json, "proportion");
        json_real(&json, row->share);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}
