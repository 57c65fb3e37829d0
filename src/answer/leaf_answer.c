// SPDX-License-Identifier: Apache-2.0
#include "answer/leaf_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/stacks/package_path.h"
#include "answer/sheet.h"
#include "base/units.h"

enum { SCREEN = 78, LIBRARY_SCREEN = 150 }; // the heads of the library alone take 110

struct group {
    char text[160];
};

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

static void put_process(struct group *out, const char *group)
{
    const char *command = strstr(group, ":\"");
    if (!command)
        return;
    const char *words = command_words(command + 2);
    size_t length = strlen(words);
    length -= length && words[length - 1] == '"';
    snprintf(out->text, sizeof out->text, "%.*s %.*s", (int)(command - group), group, (int)length,
             words);
}

static void put_thread(struct group *out, const char *group)
{
    const size_t digits = strcspn(group, ")");
    const char *name = group + digits;
    if (*name)
        name += strspn(name, "):");
    snprintf(out->text, sizeof out->text, "%.*s%s", (int)digits, group, name);
}

// What tells groups apart stands first, for the end is cut off. `process
// 12:"/usr/bin/python3 run/train.py --fast"` is 12 train.py --fast, `thread (12): main`
// is 12 main.
static struct group shown_group(const char *group)
{
    static const char process[] = "process ", thread[] = "thread (";
    struct group shown;
    snprintf(shown.text, sizeof shown.text, "%s", *group ? group : "-");
    if (!strncmp(group, process, sizeof process - 1))
        put_process(&shown, group + sizeof process - 1);
    else if (!strncmp(group, thread, sizeof thread - 1))
        put_thread(&shown, group + sizeof thread - 1);
    return shown;
}

// How often a row is shown: so many of each group are.
static uint64_t times_shown(const struct leaf_answer *answer, size_t index, uint64_t *in_group)
{
    const struct leaf_row *rows = answer->report->rows;
    if (index && strcmp(rows[index].group, rows[index - 1].group) != 0)
        *in_group = 0;
    const uint64_t left = answer->rows - *in_group;
    const uint64_t times = rows[index].times < left ? rows[index].times : left;
    *in_group += times;
    return times;
}

#define NEAR 10 // rows above one that it is compared with

// Whether two rows that are shown near each other look the same: those of different stacks.
static bool has_twins(const struct leaf_answer *answer)
{
    const struct leaf_row *rows = answer->report->rows;
    uint64_t in_group = 0;
    for (size_t i = 0; i < answer->report->count; i++) {
        const uint64_t times = times_shown(answer, i, &in_group);
        if (times > 1)
            return true;
        for (size_t j = i; times && j-- > 0 && i - j <= NEAR;)
            if (rows[j].leaf == rows[i].leaf && rows[j].library == rows[i].library &&
                !strcmp(rows[j].group, rows[i].group))
                return true;
    }
    return false;
}

static void say_notes(struct sheet *sheet, const struct leaf_answer *answer)
{
    uint64_t in_group = 0, left = 0;
    char text[100];
    for (size_t i = 0; i < answer->report->count; i++)
        left += answer->report->rows[i].times - times_shown(answer, i, &in_group);
    snprintf(text, sizeof text, "%s more row%s; -n all shows them", units_count(left).text,
             units_plural(left));
    if (left)
        sheet_say(sheet, SAY_LEAD, text);
    if (has_twins(answer))
        sheet_say(sheet, SAY_LEAD,
                  "Rows that look the same belong to different stacks; -a merges them.");
}

// --- the table -------------------------------------------------------------------------

enum { PLACE_CELLS = 6, MOST_COLUMNS = 2 + 2 * PLACE_CELLS + 3 };

struct cells {
    struct column columns[MOST_COLUMNS];
    struct value values[MOST_COLUMNS];
    size_t count;
};

// Data has a column by its key, people by its label.
static void add(struct cells *cells, struct column column, struct value value)
{
    cells->columns[cells->count] = column;
    cells->values[cells->count++] = value;
}

// A function with its place, whose keys begin with the column's.
static void add_place(struct cells *cells, const struct stack_frame *frame, bool is_library)
{
    const int of = is_library;
    static const char *const keys[2][3] = {
        {"name", "path", "line"},
        {"library_function_name", "library_function_path", "library_function_line"}};
    const char *missing = is_library ? "Not Found" : "";
    const struct value line = value_if(frame && frame->line, value_int(frame ? frame->line : 0));
    const struct value texts[] = {value_text(frame ? frame->name : NULL),
                                  value_text(frame ? frame->path : NULL)};
    add(cells, (struct column){.key = keys[of][0]}, texts[0]);
    add(cells, (struct column){.label = keys[of][0], .flags = COLUMN_LEFT},
        value_text(frame ? frame->name : missing));
    add(cells, (struct column){.key = keys[of][1]}, texts[1]);
    add(cells, (struct column){.label = keys[of][1], .flags = COLUMN_LEFT},
        value_text(frame ? package_path(frame->path) : missing));
    add(cells, (struct column){.key = keys[of][2]}, line);
    add(cells, (struct column){.label = keys[of][2]},
        frame && frame->line ? line : value_text(frame ? "" : missing));
}

// `row` NULL: the columns alone.
static void fill(struct cells *cells, const struct leaf_answer *answer, const struct leaf_row *row)
{
    static const struct leaf_row none = {.group = ""};
    const struct leaf_row *of = row ? row : &none;
    static char proportion[64];
    static struct group group;
    cells->count = 0;
    snprintf(proportion, sizeof proportion, "%.2f%% (%" PRIu64 ")", 100 * of->share, of->count);
    group = shown_group(of->group);
    if (answer->group) {
        add(cells, (struct column){.key = answer->group},
            value_text(*of->group ? of->group : NULL));
        add(cells, (struct column){.label = answer->group, .flags = COLUMN_LEFT | COLUMN_BEGINNING},
            value_text(group.text));
    }
    add_place(cells, of->leaf, false);
    if (answer->has_library)
        add_place(cells, of->library, true);
    add(cells, (struct column){.key = "samples"}, value_uint(of->count));
    add(cells, (struct column){.key = "proportion"}, value_real(of->share));
    add(cells, (struct column){.label = "proportion (n)"}, value_text(proportion));
}

void leaf_answer_put(struct sheet *sheet, const struct leaf_answer *answer)
{
    struct cells cells;
    uint64_t in_group = 0;
    fill(&cells, answer, NULL);
    const struct table table = {.key = "rows",
                                .heading = "Where samples ended",
                                .columns = cells.columns,
                                .count = cells.count,
                                .look = TABLE_GRID,
                                .widest = answer->has_library ? LIBRARY_SCREEN : SCREEN};
    sheet_put(sheet, "samples", value_uint(answer->report->samples));
    sheet_put(sheet, "samples_without_function", value_uint(answer->report->left_out));
    sheet_put(sheet, "samples_blocked", value_uint(answer->set->blocked));
    sheet_put(sheet, "bad_lines", value_uint(answer->set->bad_lines));
    sheet_table_copy(sheet, &table);
    for (size_t i = 0; i < answer->report->count; i++) {
        uint64_t times = times_shown(answer, i, &in_group);
        fill(&cells, answer, &answer->report->rows[i]);
        for (; times; times--)
            sheet_row(sheet, cells.values, 0);
    }
    sheet_end(sheet);
    say_notes(sheet, answer);
}
