// SPDX-License-Identifier: Apache-2.0
// Columns as wide as their widest cell, numbers to the right; where that is more
// than a screen has, names are cut in the middle.
#include "render/leaf_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/units.h"
#include "render/package_path.h"
#include "render/plain.h"

#define WIDEST 10000u
#define LIBRARY_COLUMNS 150 // its heads alone, which people know, take 110

enum { COLUMNS = 8, NUMBER_BYTES = 160, HEAD_ROOM = 2 };
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
    const char *text; // of a name, or `number`
    char number[NUMBER_BYTES];
};

static bool has_column(const struct leaf_text *text, int column)
{
    if (column == GROUP)
        return text->group;
    return text->has_library || column < LIBRARY_NAME || column > LIBRARY_LINE;
}

static unsigned width_of(const char *text)
{
    return plain_width(text, WIDEST);
}

static void put_line(struct cell *cell, const struct stack_frame *frame)
{
    if (frame->line)
        snprintf(cell->number, sizeof cell->number, "%" PRId32, frame->line);
}

// Behind options of the interpreter, of which -W and -X have an argument.
static const char *past_options(const char *words)
{
    while (*words == '-' && words[1] != 'c' && words[1] != 'm') {
        const bool has_more = (words[1] == 'W' || words[1] == 'X') && words[2] == ' ';
        const char *next = strchr(words + (has_more ? 3 : 0), ' ');
        if (!next)
            break;
        words = next + 1;
    }
    return words;
}

// Without the interpreter, which all of them are, and the folders of the script.
static const char *command_words(const char *command)
{
    const size_t first = strcspn(command, " \"");
    const char *name = command + first;
    while (name > command && name[-1] != '/')
        name--;
    if (strncmp(name, "python", 6) != 0 || command[first] != ' ')
        return name;
    const char *script = past_options(command + first + 1);
    for (const char *at = script; *at && !strchr(" \"", *at); at++)
        if (*at == '/' && *script != '-')
            script = at + 1;
    return script;
}

static void put_process(struct cell *cell, const char *group)
{
    const char *command = strstr(group, ":\"");
    if (!command)
        return;
    const char *words = command_words(command + 2);
    size_t length = strlen(words);
    length -= length && words[length - 1] == '"';
    snprintf(cell->number, sizeof cell->number, "%.*s %.*s", (int)(command - group), group,
             (int)length, words);
    cell->text = cell->number;
}

static void put_thread(struct cell *cell, const char *group)
{
    const size_t digits = strcspn(group, ")");
    const char *name = group + digits;
    if (*name)
        name += strspn(name, "):");
    snprintf(cell->number, sizeof cell->number, "%.*s%s", (int)digits, group, name);
    cell->text = cell->number;
}

// What tells groups apart stands first, for the end is cut off. `process
// 12:"/usr/bin/python3 run/train.py --fast"` is 12 train.py --fast, `thread (12): main`
// is 12 main.
static void put_group(struct cell *cell, const char *group)
{
    static const char process[] = "process ", thread[] = "thread (";
    cell->text = group;
    if (!strncmp(group, process, sizeof process - 1))
        put_process(cell, group + sizeof process - 1);
    else if (!strncmp(group, thread, sizeof thread - 1))
        put_thread(cell, group + sizeof thread - 1);
}

static void fill(const struct leaf_row *row, int column, struct cell *cell)
{
    cell->number[0] = '\0';
    cell->text = cell->number;
    if (column >= LIBRARY_NAME && column <= LIBRARY_LINE && !row->library)
        cell->text = "Not Found";
    else if (column == GROUP)
        put_group(cell, *row->group ? row->group : "-");
    else if (column == NAME || column == LIBRARY_NAME)
        cell->text = column == NAME ? row->leaf->name : row->library->name;
    else if (column == PATH || column == LIBRARY_PATH)
        cell->text = package_path(column == PATH ? row->leaf->path : row->library->path);
    else if (column == LINE || column == LIBRARY_LINE)
        put_line(cell, column == LINE ? row->leaf : row->library);
    else
        snprintf(cell->number, sizeof cell->number, "%.2f%% (%" PRIu64 ")", 100 * row->share,
                 row->count);
}

// How often a row is shown: so many of each group are.
static uint64_t times_shown(const struct leaf_text *text, size_t index, uint64_t *in_group)
{
    const struct leaf_row *rows = text->report->rows;
    if (index && strcmp(rows[index].group, rows[index - 1].group) != 0)
        *in_group = 0;
    const uint64_t left = text->rows - *in_group;
    const uint64_t times = rows[index].times < left ? rows[index].times : left;
    *in_group += times;
    return times;
}

struct shape {
    unsigned widths[COLUMNS], least[COLUMNS];
    bool are_numbers[COLUMNS]; // such a column stands to the right
    int last;
};

static const char *head_of(const struct leaf_text *text, int column)
{
    return column == GROUP ? text->group : heads[column];
}

static void measure(const struct leaf_text *text, int column, struct shape *shape)
{
    bool is_number = column == LINE || column == LIBRARY_LINE;
    uint64_t in_group = 0;
    struct cell cell;
    unsigned widest = width_of(head_of(text, column)) + HEAD_ROOM;
    shape->least[column] = widest;
    for (size_t i = 0; i < text->report->count; i++) {
        if (!times_shown(text, i, &in_group))
            continue;
        fill(&text->report->rows[i], column, &cell);
        const unsigned width = width_of(cell.text);
        widest = width > widest ? width : widest;
        is_number = is_number && cell.text[strspn(cell.text, "-0123456789")] == '\0';
    }
    shape->widths[column] = widest;
    shape->are_numbers[column] = is_number;
}

// Columns of names give way, the widest first, down to their heads.
static void narrow(const struct leaf_text *text, struct shape *shape)
{
    static const int names[] = {GROUP, NAME, PATH, LIBRARY_NAME, LIBRARY_PATH};
    unsigned all = 0;
    for (int column = 0; column < COLUMNS; column++)
        all += has_column(text, column) ? shape->widths[column] + 3 : 0;
    const unsigned limit = text->has_library ? LIBRARY_COLUMNS : PLAIN_COLUMNS;
    for (; all > limit + 1; all--) { // nothing stands behind the last
        int widest = -1;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (shape->widths[names[i]] > shape->least[names[i]] &&
                (widest < 0 || shape->widths[names[i]] > shape->widths[widest]))
                widest = names[i];
        if (widest < 0)
            break;
        shape->widths[widest]--;
    }
}

static void put_cell(FILE *out, const struct shape *shape, int column, const char *words)
{
    unsigned columns = shape->widths[column];
    if (column == shape->last && width_of(words) < columns)
        columns = width_of(words);
    fputc(' ', out);
    const enum plain_side side = shape->are_numbers[column] ? PLAIN_RIGHT : PLAIN_LEFT;
    if (column == GROUP)
        plain_put(out, words, columns, side);
    else
        plain_put_middle(out, words, columns, side);
    fputs(column == shape->last ? "\n" : " |", out);
}

static void put_row(FILE *out, const struct leaf_text *text, const struct shape *shape,
                    const struct leaf_row *row)
{
    struct cell cell;
    for (int column = 0; column < COLUMNS; column++) {
        if (!has_column(text, column))
            continue;
        fill(row, column, &cell);
        put_cell(out, shape, column, cell.text);
    }
}

#define NEAR 10 // rows above one that it is compared with

// Whether two rows that are shown near each other look the same: those of different stacks.
static bool has_twins(const struct leaf_text *text)
{
    const struct leaf_row *rows = text->report->rows;
    uint64_t in_group = 0;
    for (size_t i = 0; i < text->report->count; i++) {
        const uint64_t times = times_shown(text, i, &in_group);
        if (times > 1)
            return true;
        for (size_t j = i; times && j-- > 0 && i - j <= NEAR;)
            if (rows[j].leaf == rows[i].leaf && rows[j].library == rows[i].library &&
                !strcmp(rows[j].group, rows[i].group))
                return true;
    }
    return false;
}

static void put_notes(FILE *out, const struct leaf_text *text)
{
    uint64_t in_group = 0, left = 0;
    for (size_t i = 0; i < text->report->count; i++)
        left += text->report->rows[i].times - times_shown(text, i, &in_group);
    if (left)
        fprintf(out, "%s more row%s; -n all shows them\n", units_count(left).text,
                units_plural(left));
    if (has_twins(text))
        fputs("Rows that look the same are of different stacks; -a makes one of them.\n", out);
}

void leaf_text_put(FILE *out, const struct leaf_text *text)
{
    struct shape shape = {.last = PROPORTION};
    uint64_t in_group = 0;
    bool is_first = true;
    for (int column = 0; column < COLUMNS; column++)
        if (has_column(text, column))
            measure(text, column, &shape);
    narrow(text, &shape);
    for (int column = 0; column < COLUMNS; column++)
        if (has_column(text, column))
            put_cell(out, &shape, column, head_of(text, column));
    for (int column = 0; column < COLUMNS; column++) {
        if (!has_column(text, column))
            continue;
        fputs(is_first ? "" : "+", out);
        is_first = false;
        for (unsigned i = 0; i < shape.widths[column] + 2; i++)
            fputc('-', out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < text->report->count; i++)
        for (uint64_t times = times_shown(text, i, &in_group); times > 0; times--)
            put_row(out, text, &shape, &text->report->rows[i]);
    put_notes(out, text);
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

static void put_json_row(struct json_writer *json, const struct leaf_text *text,
                         const struct leaf_row *row)
{
    json_object(json);
    if (text->group)
        json_put_text(json, text->group, *row->group ? row->group : NULL);
    put_place(json, row->leaf, "");
    if (text->has_library)
        put_place(json, row->library, "library_function_");
    json_put_uint(json, "samples", row->count);
    json_key(json, "proportion");
    json_real(json, row->share);
    json_close(json);
}

void leaf_text_put_json(FILE *out, const struct leaf_text *text)
{
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    uint64_t in_group = 0;
    json_object(&json);
    json_put_uint(&json, "samples", text->report->samples);
    json_put_uint(&json, "samples_without_function", text->report->left_out);
    json_put_uint(&json, "samples_blocked", text->set->blocked);
    json_put_uint(&json, "bad_lines", text->set->bad_lines);
    json_key(&json, "rows");
    json_array(&json);
    for (size_t i = 0; i < text->report->count; i++)
        for (uint64_t times = times_shown(text, i, &in_group); times > 0; times--)
            put_json_row(&json, text, &text->report->rows[i]);
    json_close(&json);
    json_close(&json);
}
