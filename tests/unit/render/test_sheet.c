// SPDX-License-Identifier: Apache-2.0
// One sheet, printed in every format: what people see, what data has, and that no name
// from a run becomes markup.
#define _GNU_SOURCE
#include "answer/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/sheet_plot.h"
#include "base/fail.h"
#include "render/sheet_print.h"
#include "support/tap.h"

static char printed[1 << 16];

static const char *print_look(const struct sheet *sheet, const char *format,
                              const struct sheet_look *look)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    *printed = '\0';
    if (!out)
        return "";
    const int status = sheet_format_named(format)->print(sheet, look, out);
    fclose(out);
    return status ? "failed" : printed;
}

static const char *print(const struct sheet *sheet, const char *format, const char *table)
{
    return print_look(sheet, format, &(struct sheet_look){.table = table});
}

static const char *print_wide(const struct sheet *sheet, unsigned columns)
{
    return print_look(sheet, "text", &(struct sheet_look){.text = {.columns = columns}});
}

static bool has(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

static const struct column columns[] = {
    {.key = "name", .label = "", .width = 12, .flags = COLUMN_LEFT},
    {.key = "total_ns", .label = "total", .unit = UNIT_NS, .width = 9, .flags = COLUMN_SUMS},
    {.key = "pid"},
    {.label = "share", .unit = UNIT_SHARE, .width = 8, .flags = COLUMN_SUMS},
    {.label = "", .flags = COLUMN_BAR | COLUMN_SUMS},
};
static const struct column inner_columns[] = {{.key = "part"}, {.key = "bytes"}};
static const struct table inner = {.key = "parts", .columns = inner_columns, .count = 2};

static void put_row(struct sheet *sheet, const char *name, uint64_t ns, unsigned flags)
{
    const struct value cells[] = {value_text(name), value_uint(ns), value_int(-7),
                                  value_share(ns, 1000),
                                  flags & ROW_TOTAL ? value_none() : value_uint(ns)};
    sheet_row(sheet, cells, flags);
}

static void put_rows(struct sheet *sheet, const struct table *table, const char *name)
{
    sheet_table(sheet, table);
    put_row(sheet, "small", 10, 0);
    put_row(sheet, "none", 0, 0);
    put_row(sheet, "rest", 0, ROW_LAST);
    put_row(sheet, name, 700, 0);
    put_row(sheet, "smaller", 5, 0);
    put_row(sheet, "middle", 285, 0);
    put_row(sheet, "hidden", 999, ROW_HIDDEN);
    put_row(sheet, "= all", 1000, ROW_TOTAL);
    sheet_end(sheet);
}

static struct sheet *make(const struct table *table, const char *name)
{
    struct sheet *sheet;
    if (sheet_new(&sheet))
        return NULL;
    sheet_title(sheet, name, "one process");
    sheet_verdict(sheet, &(struct sheet_verdict){.label = name,
                                                 .why = "it waits",
                                                 .tries = &(struct sheet_try){"do less", 0},
                                                 .try_count = 1});
    sheet_section(sheet, "Steps", "12 of them");
    sheet_object(sheet, "step");
    sheet_value(sheet, "p50_ns", "p50", UNIT_NS, value_int(8110000));
    sheet_put(sheet, "p99_ns", value_int(9));
    sheet_value(sheet, "max_ns", "max", UNIT_NS, value_int(31000000));
    sheet_remark(sheet, "step 7");
    sheet_end(sheet);
    sheet_say(sheet, SAY_BULLET, name);
    put_rows(sheet, table, name);
    return sheet;
}

static const struct table falling = {.key = "phases",
                                     .heading = "Where it goes",
                                     .columns = columns,
                                     .count = 5,
                                     .most = 2,
                                     .more = "smaller",
                                     .falling_by = "total_ns"};

TEST("sheet: people see the largest rows, the sum of the others, what is last, the total")
{
    struct sheet *sheet = make(&falling, "large");
    is_str(print(sheet, "text", NULL), "large\n"
                                       "one process\n"
                                       "\n"
                                       "large: it waits\n"
                                       "  try  do less\n"
                                       "\n"
                                       "Steps  12 of them\n"
                                       "  p50 8.11 ms   max 31.0 ms (step 7)\n"
                                       "  - large\n"
                                       "\n"
                                       "Where it goes     total   share\n"
                                       "  large          700 ns  70.0 %  ##############\n"
                                       "  middle         285 ns  28.5 %  ######\n"
                                       "  (2 smaller)     15 ns   1.5 %\n"
                                       "  rest             0 ns   0.0 %\n"
                                       "  = all         1.00 us 100.0 %\n");
    sheet_drop(sheet);
}

TEST("sheet: names that differ at their ends are not two rows of one name")
{
    struct sheet *sheet = make(&falling, "aten::attention_backward");
    ok(has(print(sheet, "text", NULL), "\n  ate...ckward "));
    sheet_drop(sheet);
}

// --- the width of lines ----------------------------------------------------------------

static struct sheet *make_wide(void)
{
    static const struct column wide_columns[] = {
        {.label = "", .width = 24, .flags = COLUMN_LEFT},
        {.label = "total", .unit = UNIT_NS, .width = 11},
        {.label = "a step", .unit = UNIT_NS, .width = 11},
        {.label = "", .flags = COLUMN_BAR},
    };
    static const struct column word_columns[] = {
        {.label = "pid", .width = 7},
        {.label = "most of it", .flags = COLUMN_LEFT},
    };
    static const struct table wide = {.heading = "Time", COLUMNS_ARE(wide_columns)},
                              words = {.heading = "Pids", COLUMNS_ARE(word_columns)};
    struct sheet *sheet;
    if (sheet_new(&sheet))
        return NULL;
    sheet_say(sheet, SAY_BULLET, "nine words of five letters stand on a line that is of sixty");
    sheet_table(sheet, &wide);
    SHEET_ROW(sheet, value_text("aten::attention_backward"), value_int(700), value_int(7),
              value_int(2));
    SHEET_ROW(sheet, value_text("sum"), value_int(350), value_int(3), value_int(1));
    sheet_end(sheet);
    sheet_table(sheet, &words);
    SHEET_ROW(sheet, value_int(12), value_text("input 28 %, forward 21 %, backward 17 %, other"));
    sheet_end(sheet);
    return sheet;
}

TEST("sheet: on a narrow screen names give way and words wrap, numbers stay")
{
    struct sheet *sheet = make_wide();
    is_str(print_wide(sheet, 52), "  - nine words of five letters stand on a line that\n"
                                  "    is of sixty\n"
                                  "\n"
                                  "Time                     total     a step\n"
                                  "  aten:..._backward     700 ns       7 ns  #########\n"
                                  "  sum                   350 ns       3 ns  #####\n"
                                  "\n"
                                  "Pids       most of it\n"
                                  "       12  input 28 %, forward 21 %, backward 17 %,\n"
                                  "           other\n");
    sheet_drop(sheet);
}

TEST("sheet: on a wide screen lines and bars are longer, columns are where they were")
{
    struct sheet *sheet = make_wide();
    is_str(print_wide(sheet, 112),
           "  - nine words of five letters stand on a line that is of sixty\n"
           "\n"
           "Time                            total     a step\n"
           "  aten::attention_backward     700 ns       7 ns  ####################\n"
           "  sum                          350 ns       3 ns  ##########\n"
           "\n"
           "Pids       most of it\n"
           "       12  input 28 %, forward 21 %, backward 17 %, other\n");
    sheet_drop(sheet);
}

TEST("sheet: data has every row in the order in which it was put, and no total")
{
    struct sheet *sheet = make(&falling, "large");
    is_str(print(sheet, "json", NULL),
           "{\n"
           "  \"step\": {\n"
           "    \"p50_ns\": 8110000,\n"
           "    \"p99_ns\": 9,\n"
           "    \"max_ns\": 31000000\n"
           "  },\n"
           "  \"phases\": [\n"
           "    {\"name\": \"small\", \"total_ns\": 10, \"pid\": -7},\n"
           "    {\"name\": \"none\", \"total_ns\": 0, \"pid\": -7},\n"
           "    {\"name\": \"rest\", \"total_ns\": 0, \"pid\": -7},\n"
           "    {\"name\": \"large\", \"total_ns\": 700, \"pid\": -7},\n"
           "    {\"name\": \"smaller\", \"total_ns\": 5, \"pid\": -7},\n"
           "    {\"name\": \"middle\", \"total_ns\": 285, \"pid\": -7},\n"
           "    {\"name\": \"hidden\", \"total_ns\": 999, \"pid\": -7}\n"
           "  ]\n"
           "}\n");
    is_str(print(sheet, "csv", "phases"), "table,name,total_ns,pid\n"
                                          "phases,small,10,-7\n"
                                          "phases,none,0,-7\n"
                                          "phases,rest,0,-7\n"
                                          "phases,large,700,-7\n"
                                          "phases,smaller,5,-7\n"
                                          "phases,middle,285,-7\n"
                                          "phases,hidden,999,-7\n");
    sheet_drop(sheet);
}

TEST("sheet: the first row and the newest are kept where a table says so")
{
    static const struct table newest = {.key = "epochs",
                                        .heading = "Epochs",
                                        .columns = columns,
                                        .count = 1,
                                        .most = 2,
                                        .more = "more",
                                        .keeps_newest = true};
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_table(sheet, &newest);
    for (unsigned i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        sheet_row(sheet, (struct value[]){value_text(name)}, 0);
    }
    sheet_end(sheet);
    is_str(print(sheet, "text", NULL), "\nEpochs\n  a\n  (3 more: --json)\n  e\n");
    sheet_drop(sheet);
}

TEST("sheet: a short line loses the columns that may go, and a page has them all")
{
    static const struct column code_columns[] = {
        {.key = "name", .label = "", .width = 12, .flags = COLUMN_LEFT},
        {.key = "ns", .label = "total", .width = 9, .flags = COLUMN_OF_PAGE},
        {.label = "", .width = 4, .flags = COLUMN_BAR},
        {.label = "where", .width = 20, .flags = COLUMN_LEFT | COLUMN_GOES},
        {.label = "", .unit = UNIT_SHARE, .width = 7, .flags = COLUMN_GOES}};
    static const struct table code = {.key = "code", .heading = "Code", COLUMNS_ARE(code_columns)};
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_table(sheet, &code);
    SHEET_ROW(sheet, value_text("a"), value_int(77), value_int(2), value_text("train.py:6 augment"),
              value_share(1, 2));
    SHEET_ROW(sheet, value_text("b"), value_int(76), value_int(1), value_text(""), value_text(""));
    sheet_end(sheet);
    is_str(print(sheet, "text", NULL), "\nCode                  where\n"
                                       "  a             ####  train.py:6 augment   50.0 %\n"
                                       "  b             ##\n");
    is_str(print_wide(sheet, 60), "\nCode\n"
                                  "  a             ####\n"
                                  "  b             ##\n");
    const char *page = print(sheet, "html", NULL);
    ok(has(page, "total") && has(page, "77") && has(page, "train.py:6 augment"));
    sheet_drop(sheet);
}

TEST("sheet: csv names its tables, quotes what has a comma, and numbers outer rows")
{
    static const struct table outer = {.key = "ranks", .columns = inner_columns, .count = 1};
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_put(sheet, "share", value_share(1, 4));
    sheet_put(sheet, "unknown", value_none());
    sheet_put(sheet, "said", value_text("a \"b\""));
    sheet_table(sheet, &outer);
    for (int64_t i = 0; i < 2; i++) {
        sheet_row(sheet, (struct value[]){value_text(i ? "a, \"b\"\n" : "plain")}, 0);
        sheet_table(sheet, &inner);
        sheet_row(sheet, (struct value[]){value_text("p"), value_int(10 + i)}, 0);
        sheet_end(sheet);
        sheet_object(sheet, "why");
        sheet_put(sheet, i ? "ns" : "share", value_int(7 + i));
        sheet_end(sheet);
    }
    sheet_end(sheet);
    is_str(print(sheet, "csv", NULL), "table,key,value\n"
                                      "values,share,0.25\n"
                                      "values,unknown,\n"
                                      "values,said,\"a \"\"b\"\"\"\n"
                                      "table,part\n"
                                      "ranks,plain\n"
                                      "ranks,\"a, \"\"b\"\"\n\"\n"
                                      "table,row,part,bytes\n"
                                      "ranks.parts,0,p,10\n"
                                      "ranks.parts,1,p,11\n"
                                      "table,row,key,value\n"
                                      "ranks.why,0,share,7\n"
                                      "ranks.why,1,ns,8\n");
    is_str(print(sheet, "csv", "ranks.parts"), "table,row,part,bytes\n"
                                               "ranks.parts,0,p,10\n"
                                               "ranks.parts,1,p,11\n");
    is_str(print(sheet, "csv", "rank"), "failed");
    ok(has(fail_text(), "the tables are values, ranks, ranks.parts, ranks.why"));
    sheet_drop(sheet);
}

TEST("sheet: no name becomes markup of a page or of Markdown")
{
    struct sheet *sheet = make(&falling, "<script src=\"http://x\">'&*[a](b)|\x1b[0m");
    const char *page = print(sheet, "html", NULL);
    ok(!has(page, "<script"));
    ok(!has(page, "src=\""));
    ok(has(page, "&lt;script src=&quot;http://x&quot;&gt;&#39;&amp;*[a](b)|\\x1b[0m"));
    const char *note = print(sheet, "md", NULL);
    ok(!has(note, "<script"));
    ok(has(note, "&lt;script src=\"http\\://x\"&gt;'&amp;\\*\\[a\\](b)\\|\\\\x1b\\[0m"));
    sheet_drop(sheet);
    sheet = make(&falling, "# WWW.a.b a@b.c");
    ok(has(print(sheet, "md", NULL), "\n- \\# WWW\\.a.b a\\@b.c\n"));
    sheet_drop(sheet);
}

TEST("sheet: a page has a card a section, tiles for values and bars")
{
    struct sheet *sheet = make(&falling, "large");
    const char *page = print(sheet, "html", NULL);
    ok(has(page, "<h2>Steps</h2>\n<p>12 of them</p>"));
    ok(has(page, "<dt>p50</dt>\n<dd>8.11 ms</dd>"));
    ok(has(page, "<td>285 ns</td><td>28.5 %</td><td class=\"bar\"><i style=\"width:40.7%\">"));
    ok(has(page, "<tr class=\"total\"><th scope=\"row\" class=\"words\">= all</th>"));
    sheet_drop(sheet);
}

TEST("sheet: lines keep their layout, and a flat table has no heading in text")
{
    static const struct column flat_columns[] = {
        {.label = "count", .width = 7},
        {.label = "", .width = 3, .flags = COLUMN_LEFT | COLUMN_TIGHT},
        {.label = "function", .flags = COLUMN_LEFT | COLUMN_PLACE},
    };
    static const struct table flat = {
        .heading = "Functions", .look = TABLE_FLAT, COLUMNS_ARE(flat_columns)};
    static const char path[] = "run (/a/very/long/path/to/a/file/that/nobody/would/ever/want/to/"
                               "read/or/type/in/full.py)";
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_title(sheet, "of a page", NULL);
    FILE *lines = sheet_lines_begin(sheet);
    if (lines)
        fputs("  a <b>\n\n\x1b[0m\n", lines);
    sheet_lines_end(sheet);
    sheet_table(sheet, &flat);
    sheet_row(sheet, (struct value[]){value_int(12), value_text("ab"), value_text(path)}, 0);
    sheet_end(sheet);
    is_str(print(sheet, "text", NULL), "  a <b>\n\n\\x1b[0m\n"
                                       "  count      function\n"
                                       "     12 ab   run (/a/very/long/path/to/a...er/want/to/"
                                       "read/or/type/in/full.py)\n");
    const char *page = print(sheet, "html", NULL);
    ok(has(page, "<h1>of a page</h1>"));
    ok(has(page, "<pre tabindex=\"0\">  a &lt;b&gt;\n\n\\x1b[0m\n</pre>"));
    ok(has(page, "<caption>Functions</caption>"));
    ok(has(print(sheet, "md", NULL), "\n      a <b>\n"));
    sheet_drop(sheet);
}

TEST("sheet: a title's sentence wraps, and a name with brackets inside stays itself")
{
    static const struct column place_columns[] = {
        {.label = "what", .flags = COLUMN_LEFT | COLUMN_PLACE}};
    static const struct table places = {
        .heading = "Places", .look = TABLE_FLAT, COLUMNS_ARE(place_columns)};
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_title(sheet, "run",
                "eight words of nine letters fill a line, so that here the sentence "
                "goes on below it");
    sheet_table(sheet, &places);
    sheet_row(sheet, (struct value[]){value_text("load (fast) path")}, 0);
    sheet_end(sheet);
    is_str(print(sheet, "text", NULL),
           "run\neight words of nine letters fill a line, so that here the sentence goes on\n"
           "below it\nwhat\nload (fast) path\n");
    sheet_drop(sheet);
}

TEST("sheet: svg draws a table with bars, and says what it could draw")
{
    struct sheet *sheet = make(&falling, "<large>");
    const char *picture = print(sheet, "svg", "phases");
    ok(has(picture, "<svg class=\"chart\""));
    ok(has(picture, "aria-label=\"Where it goes\""));
    ok(has(picture, ">&lt;large&gt;</text>"));
    ok(has(picture, ">(2 smaller)</text>"));
    ok(has(picture, ">28.5 %</text>"));
    ok(!has(picture, "<script"));
    is_str(print(sheet, "svg", NULL), "failed");
    is_str(fail_text(), "svg draws one table: give --table KEY, one of phases");
    sheet_drop(sheet);
}

TEST("sheet: formats go by the ending of a file")
{
    is_str(sheet_format_of("a/run.html")->name, "html");
    is_str(sheet_format_of("run.csv")->name, "csv");
    is_str(sheet_format_of("html")->name, "text");
    is_str(sheet_format_of("step_curve.svg")->name, "svg");
    ok(!sheet_format_named("pdf"));
}

// --- hostile values and names ----------------------------------------------------------

enum { LONG_NAME = 100000 };

static const struct column any_columns[] = {
    {.key = "name", .label = "name", .width = 12, .flags = COLUMN_LEFT},
    {.key = "ns", .label = "time", .unit = UNIT_NS, .width = 9, .flags = COLUMN_SUMS},
    {.key = "bytes", .label = "bytes", .unit = UNIT_BYTES, .width = 9, .flags = COLUMN_SUMS},
    {.key = "count", .label = "count", .unit = UNIT_COUNT, .width = 9},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 8, .flags = COLUMN_SUMS},
    {.label = "", .flags = COLUMN_BAR},
    {.key = "place", .label = "place", .width = 12, .flags = COLUMN_LEFT | COLUMN_PLACE},
    {.key = "last", .label = "last", .flags = COLUMN_LEFT},
    {.key = "words", .label = "words", .flags = COLUMN_LEFT | COLUMN_WRAP},
};
enum { ANY_COLUMNS = sizeof any_columns / sizeof any_columns[0] };

// Every kind of value at its ends. What it is called in JSON says whether it is a number.
static size_t any_values(const char *name, struct value out[32])
{
    const struct value all[] = {value_int(INT64_MIN),       value_int(-1),
                                value_int(INT64_MAX),       value_uint(UINT64_MAX),
                                value_real(-0.25),          value_real(NAN),
                                value_real(INFINITY),       value_real(-INFINITY),
                                value_real(1.7e308),        value_real(-1.7e308),
                                value_real(5e-324),         value_share(UINT64_MAX, 1),
                                value_share(1, UINT64_MAX), value_mean(UINT64_MAX, 1),
                                value_bool(true),           value_none(),
                                value_text(name),           value_json(name)};
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static struct sheet *make_hostile(enum table_look look, const char *name)
{
    static const struct series series = {
        .key = "curve", .heading = "Curve", .y_unit = UNIT_NS, .x_unit = UNIT_COUNT, .x_noun = ""};
    const struct point points[] = {{INT64_MIN, INT64_MIN}, {-1, INT64_MAX}, {INT64_MAX, 0}};
    const struct plot_point places[] = {{NAN, 1, 1, 1}, {1, INFINITY, -1, 1e308}, {1, 2, NAN, NAN}};
    const struct plot_line line = {name, places, 3, false};
    const struct plot plot = {"plot", "Plot", "x", "y", PLOT_BARS, 0, NULL, &line, 1};
    const struct table table = {.key = "any",
                                .heading = "Any",
                                COLUMNS_ARE(any_columns),
                                .look = look,
                                .widest = 70,
                                .most = 10,
                                .more = "more"};
    struct value values[32], cells[ANY_COLUMNS];
    const size_t count = any_values(name, values);
    struct sheet *sheet;
    if (sheet_new(&sheet))
        return NULL;
    sheet_title(sheet, name, name);
    sheet_verdict(sheet, &(struct sheet_verdict){.front = name,
                                                 .label = name,
                                                 .why = name,
                                                 .kind = name,
                                                 .tries = &(struct sheet_try){name, 1e300},
                                                 .try_count = 1,
                                                 .nots = &name,
                                                 .not_count = 1,
                                                 .buts = &name,
                                                 .but_count = 1});
    sheet_bars(sheet, &(struct sheet_bar){name, &(struct sheet_bar_part){name, name, 1e300}, 1}, 1,
               name);
    sheet_section(sheet, name, name);
    for (size_t i = 0; i < count; i++)
        sheet_value(sheet, "value", "value", UNIT_NONE, values[i]);
    sheet_remark(sheet, name);
    sheet_say(sheet, SAY_BULLET, name);
    sheet_series(sheet, &series, points, 3);
    sheet_plot(sheet, &plot);
    sheet_table_copy(sheet, &table);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < ANY_COLUMNS; k++)
            cells[k] = values[i];
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
    return sheet;
}

// The bytes a format makes of a sheet, or -1. `ret_text` is to be freed.
static ssize_t print_all(const struct sheet *sheet, const char *format, const char *table,
                         char **ret_text)
{
    const struct sheet_look look = {.table = table};
    size_t bytes = 0;
    FILE *out = open_memstream(ret_text, &bytes);
    if (!out)
        return -1;
    const int status = sheet_format_named(format)->print(sheet, &look, out);
    fclose(out);
    return status ? -1 : (ssize_t)bytes;
}

static void prints_within(const struct sheet *sheet, const char *format, const char *table,
                          ssize_t most)
{
    char *text = NULL;
    const ssize_t bytes = print_all(sheet, format, table, &text);
    ok(bytes > 0 && bytes <= most);
    ok(text && !has(text, "nan") && !has(text, "inf"));
    free(text);
}

TEST("sheet: no value and no name makes an answer long, and no bar is longer than its room")
{
    static const struct {
        const char *format, *table;
        ssize_t most; // some 120 places hold a name, each cut to 4,000 columns
    } formats[] = {{"text", NULL, 120000}, {"md", NULL, 400000},   {"html", NULL, 400000},
                   {"svg", "any", 30000},  {"svg", "curve", 8000}, {"svg", "plot", 8000}};
    char *name = malloc(LONG_NAME + 1);
    if (!ok(name != NULL))
        return;
    memset(name, 'a', LONG_NAME);
    name[LONG_NAME] = '\0';
    for (enum table_look look = TABLE_PLAIN; look <= TABLE_GRID; look++) {
        struct sheet *sheet = make_hostile(look, name);
        for (size_t i = 0; sheet && i < sizeof formats / sizeof formats[0]; i++)
            prints_within(sheet, formats[i].format, formats[i].table, formats[i].most);
        sheet_drop(sheet);
    }
    free(name);
}

TEST("sheet: data has a name of 100 kB whole, and nothing for what is no number")
{
    char *name = malloc(LONG_NAME + 1), *text = NULL;
    if (!ok(name != NULL))
        return;
    memset(name, 'b', LONG_NAME);
    name[LONG_NAME] = '\0';
    struct sheet *sheet = make_hostile(TABLE_PLAIN, name);
    ok(sheet && print_all(sheet, "json", NULL, &text) > 0 && has(text, name));
    ok(text && has(text, "\"count\": null") && !has(text, "nan") && !has(text, "inf"));
    free(text);
    text = NULL;
    ok(sheet && print_all(sheet, "csv", NULL, &text) > 0 && has(text, name));
    ok(text && has(text, "any,,,,,") && !has(text, "null") && !has(text, "inf"));
    free(text);
    sheet_drop(sheet);
    free(name);
}

TEST("sheet: a negative share has no bar, and the largest one fills its room")
{
    static const struct column bar_columns[] = {{.label = "", .width = 2, .flags = COLUMN_LEFT},
                                                {.key = "by", .label = "", .flags = COLUMN_BAR}};
    static const struct table bars = {.key = "bars", .heading = "Bars", COLUMNS_ARE(bar_columns)};
    const double parts[] = {-0.4, 0.5, 1, INFINITY, NAN};
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_table(sheet, &bars);
    for (size_t i = 0; i < 5; i++)
        sheet_row(sheet, (struct value[]){value_text("a"), value_real(parts[i])}, 0);
    sheet_end(sheet);
    is_str(print(sheet, "text", NULL), "\nBars\n"
                                       "  a\n"
                                       "  a   #######\n"
                                       "  a   ##############\n"
                                       "  a   ##############\n"
                                       "  a\n");
    sheet_drop(sheet);
}
