// SPDX-License-Identifier: Apache-2.0
#include "cli/io/sheet_output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "cli/frame/terminal.h"
#include "cli/io/output_name.h"
#include "render/sheet_print.h"

// As the table of formats has them (tests/unit/cli/test_sheet_output.c compares).
const char *const sheet_format_names[] = {"text", "json", "csv", "md", "html", "svg", NULL};

#define AT(field) offsetof(struct sheet_wish, field)
const struct option sheet_options[SHEET_OPTIONS] = {
    {FLAG_ROW('j', "json", AT(is_json), "answer in JSON; times are integers in ns")},
    {CHOICE_ROW(0, "format", "FORMAT", sheet_format_names, AT(format),
                "text, json, csv, md, html, svg; or by FILE's ending")},
    {TEXT_ROW('o', "output", "FILE", AT(output), "write the answer to FILE; - is standard output")},
    {TEXT_ROW(0, "table", "KEY", AT(table),
              "csv, svg: this table only; a wrong KEY lists them all")},
};

static bool is_file(const struct sheet_wish *wish)
{
    return wish->output && strcmp(wish->output, "-") != 0;
}

static const struct sheet_format *format_of(const struct sheet_wish *wish)
{
    if (wish->format)
        return sheet_format_named(wish->format);
    if (wish->is_json)
        return sheet_format_named("json");
    if (is_file(wish))
        return sheet_format_of(wish->output);
    return sheet_format_named(wish->table ? "csv" : "text");
}

int sheet_wish_check(const struct sheet_wish *wish, const char *input)
{
    const struct sheet_format *format = format_of(wish);
    if (wish->is_json && strcmp(format->name, "json") != 0)
        return fail(GAIT_ERR_ARGUMENT, "--json and --format %s exclude each other", format->name);
    if (wish->table && strcmp(format->name, "csv") != 0 && strcmp(format->name, "svg") != 0)
        return fail(GAIT_ERR_ARGUMENT, "--table chooses a table of csv or svg: leave out %s",
                    wish->is_json ? "--json" : "--table, or give --format csv");
    if (!is_file(wish))
        return GAIT_OK;
    if (slice_ends_with(slice_of(wish->output), ".gait"))
        return fail(GAIT_ERR_ARGUMENT, "'%s' has the ending of a recording: choose another one",
                    wish->output);
    int status = GAIT_OK;
    if (!wish->format && !wish->is_json)
        status = output_name_spare_promise(wish->output, sheet_format_names);
    if (!status)
        status = output_name_spare_recording(wish->output);
    return status || !input ? status : output_name_spare_input(wish->output, input);
}

struct printing {
    const struct sheet *sheet;
    const struct sheet_format *format;
    const struct sheet_look *look;
};

static int print(FILE *out, void *context)
{
    const struct printing *printing = context;
    return printing->format->print(printing->sheet, printing->look, out);
}

// Whether it can be printed at all. A file may have to be written in place, and is empty
// then before the first word.
static int rehearse(struct printing *printing)
{
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        return GAIT_OK;
    const int status = print(nowhere, printing);
    fclose(nowhere);
    return status;
}

int sheet_output(const struct sheet_wish *wish, const struct sheet *sheet)
{
    const bool is_screen = !is_file(wish);
    const struct sheet_look look = {
        .text = {.is_bold = is_screen && terminal_is_bold(STDOUT_FILENO),
                 .is_all = wish->is_all,
                 .columns = is_screen ? terminal_columns(STDOUT_FILENO) : 0},
        .table = wish->table};
    struct printing printing = {.sheet = sheet, .format = format_of(wish), .look = &look};
    if (is_screen)
        return print(stdout, &printing);
    const int status = rehearse(&printing);
    return status ? status : own_file_print(wish->output, print, &printing);
}
