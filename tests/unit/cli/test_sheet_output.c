// SPDX-License-Identifier: Apache-2.0
#include "cli/io/sheet_output.h"

#include "base/fail.h"
#include "render/sheet_print.h"
#include "support/tap.h"

TEST("sheet output: the command line knows the formats that can be printed")
{
    size_t i = 0;
    for (; sheet_formats[i].name; i++)
        is_str(sheet_format_names[i], sheet_formats[i].name);
    ok(!sheet_format_names[i]);
}

static const char *refused(const struct sheet_wish *wish)
{
    return sheet_wish_check(wish, "run") ? fail_text() : "taken";
}

TEST("sheet output: what does not go together is refused before any work")
{
    is_str(refused(&(struct sheet_wish){.is_json = true, .format = "html"}),
           "--json and --format html exclude each other");
    is_str(refused(&(struct sheet_wish){.format = "md", .table = "ranks"}),
           "--table chooses a table of csv or svg: leave out --table, or give --format csv");
    is_str(refused(&(struct sheet_wish){.is_json = true, .table = "ranks"}),
           "--table chooses a table of csv or svg: leave out --json");
    is_str(refused(&(struct sheet_wish){.table = "ranks"}), "taken");
    is_str(refused(&(struct sheet_wish){.output = "new.html"}), "taken");
    is_str(refused(&(struct sheet_wish){.output = "run/new.gait"}),
           "'run/new.gait' has the ending of a recording: choose another one");
}

TEST("sheet output: a name that promises a format which gait does not write is refused")
{
    is_str(refused(&(struct sheet_wish){.output = "a/run.PDF"}),
           "'a/run.PDF': gait does not write '.PDF' here; its formats are text, json, csv, md, "
           "html, svg (--format)");
    is_str(refused(&(struct sheet_wish){.output = "run.xlsx", .format = "csv"}), "taken");
    is_str(refused(&(struct sheet_wish){.output = "out.png/run"}), "taken");
    is_str(refused(&(struct sheet_wish){.output = "run.log"}), "taken");
}
