// SPDX-License-Identifier: Apache-2.0
// An answer as data: sections, values with units, tables and sentences, in the order in
// which they are said. A sheet knows nothing of how it looks; src/render prints one as
// text, JSON, CSV, Markdown and HTML.
//
// A key makes a value or a table part of the data (JSON, CSV); a label or a heading
// makes it part of what people read (text, Markdown, HTML). Most have both.
//
//     struct sheet *sheet;
//     int status = sheet_new(&sheet);
//     sheet_section(sheet, "Steps", "120, 8.1 ms on average");
//     sheet_value(sheet, "p50_ns", "p50", UNIT_NS, value_int(steps->p50_ns));
//     ...
//     status = sheet_status(sheet);
//
// A function that fails (memory) is remembered, and the calls behind it do nothing: ask
// sheet_status() once at the end. A sheet copies every text it is given, but not the
// descriptions of tables, which are static. It belongs to one thread.
#ifndef GAIT_ANSWER_SHEET_H
#define GAIT_ANSWER_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gait/error.h>

#include "answer/value.h"

enum {
    COLUMN_LEFT = 1,       // words: to the left; others stand to the right
    COLUMN_SUMS = 2,       // adds up in the row for all rows that are left out
    COLUMN_BAR = 4,        // drawn as a bar, of the largest value in the table
    COLUMN_TIGHT = 8,      // text: words with one blank in front, not two
    COLUMN_WRAP = 16,      // text: words that go on below, in their column
    COLUMN_PLACE = 32,     // text: "name (path)", of which the path gives way
    COLUMN_BEGINNING = 64, // text, of a grid: cut at its end, not in the middle
    COLUMN_GOES = 128,     // text: left out where the line is shorter than tables are made for
    COLUMN_OF_PAGE = 256,  // text: left out
};

struct column {
    const char *key;   // of data; NULL: for people only
    const char *label; // for people; NULL: data only
    enum unit unit;
    unsigned width; // in text, in columns; 0: what is left of the line
    unsigned flags;
};

enum table_look {
    TABLE_PLAIN,
    TABLE_FLAT, // text: without heading and indent, and without labels where none has words
    TABLE_GRID, // text: without heading, columns as wide as their widest cell
};

struct table {
    const char *key;     // of data; NULL: for people only
    const char *heading; // for people; NULL: data only
    const struct column *columns;
    size_t count;
    size_t most;            // rows that people see, 0: all
    const char *more;       // what the others are called: "(3 smaller)"; NULL: not mentioned
    bool keeps_newest;      // the first row and the last ones are seen, not the first ones
    const char *falling_by; // key of the column by which people see the rows, largest first
                            // and without zeros; NULL: in the order of the data
    enum table_look look;
    bool is_of_page; // text leaves it out
    unsigned widest; // of a grid: so many columns of text, into which names are cut
};

#define COLUMNS_ARE(list) .columns = (list), .count = sizeof(list) / sizeof(list)[0]

enum row_flags {
    ROW_LAST = 1,   // people see it behind all others, whatever it holds
    ROW_TOTAL = 2,  // the sum, for people only
    ROW_HIDDEN = 4, // data only
    ROW_PEOPLE = 8, // people only, in its place
};

enum say {
    SAY_PARAGRAPH,
    SAY_ITEM,   // one of some facts
    SAY_BULLET, // one of a list
    SAY_ALERT,  // in front of everything else: what went wrong
    SAY_LEAD,   // more of the summary
    SAY_LINES,  // lines that are laid out already
};

struct sheet;

GAIT_CHECK int sheet_new(struct sheet **ret_sheet);
void sheet_drop(struct sheet *sheet); // takes NULL
GAIT_CHECK int sheet_status(const struct sheet *sheet);

// --- for people -----------------------------------------------------------------------

// Without a summary it is the title of a page alone: text has none.
void sheet_title(struct sheet *sheet, const char *title, const char *summary);
void sheet_section(struct sheet *sheet, const char *heading, const char *summary); // "": none
void sheet_say(struct sheet *sheet, enum say how, const char *text);
void sheet_command(struct sheet *sheet, const char *command); // what to type next

// Lines whose layout is part of what they say, such as a stack or a source text: whatever
// is printed to the file until sheet_lines_end(). NULL: there is no memory.
FILE *sheet_lines_begin(struct sheet *sheet);
void sheet_lines_end(struct sheet *sheet);

// The answer in a word, why, and what to do about it.
struct sheet_try {
    const char *text;
    double ceiling; // the share of a step that it can save at most; 0: not known
};
struct sheet_verdict {
    const char *front; // a line above it: "MACHINE BUSY: ..."; NULL: none
    const char *label, *why;
    const char *kind; // of the cause: "input", "failed"; colours the page; NULL: none
    const struct sheet_try *tries;
    size_t try_count;
    const char *const *nots; // what would not help
    size_t not_count;
    const char *const *buts; // what else to know
    size_t but_count;
};
void sheet_verdict(struct sheet *sheet, const struct sheet_verdict *verdict);

// Of the verdict before, on pages alone: what a step consists of, a bar beside the other, all
// on one scale that ends with `scale`: "178 ms".
struct sheet_bar_part {
    const char *name, *kind; // kind: as that of a verdict
    double share;            // of the step
};
struct sheet_bar {
    const char *name;
    const struct sheet_bar_part *parts;
    size_t count;
};
void sheet_bars(struct sheet *sheet, const struct sheet_bar *bars, size_t count, const char *scale);

// Text has what follows only where all is asked for; data and pages have it always.
void sheet_fold(struct sheet *sheet, bool is_folded);
// What to type for all of it: where something is folded away text ends with it.
void sheet_more(struct sheet *sheet, const char *command);

// --- for both -------------------------------------------------------------------------

void sheet_value(struct sheet *sheet, const char *key, const char *label, enum unit unit,
                 struct value value);
void sheet_remark(struct sheet *sheet, const char *text); // on the value before: "step 7"

// Rows of `table`, until sheet_end(). Tables inside of a row belong to it, and are data.
void sheet_table(struct sheet *sheet, const struct table *table);
// The same of a table whose columns are not static: the sheet keeps a copy.
void sheet_table_copy(struct sheet *sheet, const struct table *table);
void sheet_row(struct sheet *sheet, const struct value *cells, unsigned flags);
// The same, cell by cell, of a row without flags.
#define SHEET_ROW(sheet, ...) sheet_row((sheet), (const struct value[]){__VA_ARGS__}, 0)
// The heading of the open table, where it depends on what it shows.
void sheet_heading(struct sheet *sheet, const char *heading);

// A curve: pairs of x and y. `heading` may be NULL: data only.
struct series {
    const char *key, *heading;
    enum unit x_unit, y_unit;
    const char *x_noun; // behind a figure of x: " steps"; "": none
};
struct point {
    int64_t x, y;
};
void sheet_series(struct sheet *sheet, const struct series *series, const struct point *points,
                  size_t count);

// --- for data -------------------------------------------------------------------------

void sheet_put(struct sheet *sheet, const char *key, struct value value);
void sheet_object(struct sheet *sheet, const char *key); // until sheet_end()
void sheet_end(struct sheet *sheet);                     // the innermost table or object

#endif
