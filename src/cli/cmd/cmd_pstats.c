// SPDX-License-Identifier: Apache-2.0
// `gait pstats`: a .prof file as Python's pstats prints it, without Python.
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/call_stats.h"
#include "answer/call_stats_answer.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"

struct pstats_values {
    const char *limit, *sort;
};

// An integer is rows; with a point or an exponent it is a share of them.
static int parse_limit(const char *text, struct call_limit *limit)
{
    if (!text)
        return GAIT_OK;
    char *end;
    bool is_plain = text[strspn(text, "+-0123456789.eE")] == '\0';
    if (is_plain && strpbrk(text, ".eE")) {
        limit->is_share = true;
        limit->share = strtod(text, &end);
    } else {
        limit->is_number = true;
        limit->number = strtoll(text, &end, 10); // what is too large stands for all
    }
    if (!is_plain || end == text || *end)
        return fail(GAIT_ERR_ARGUMENT,
                    "--limit must be a number of rows (20) or a share of them (0.5), not '%s'",
                    text);
    return GAIT_OK;
}

static int run(const void *given, const struct operands *operands)
{
    const struct pstats_values *values = given;
    struct call_limit limit = {.is_share = false};
    struct prof_file file;
    struct call_stats stats;
    struct sheet *sheet = NULL;
    if (sheet_wish_check(&operands->wish, operands->texts[0]) ||
        parse_limit(values->limit, &limit) || prof_file_open(&file, operands->texts[0]))
        return command_refuse(&cmd_pstats);
    const char *order = values->sort ? values->sort : call_stats_orders[0];
    int status = call_stats_make(&file, order, &limit, &stats);
    if (!status)
        status = sheet_new(&sheet);
    if (!status) {
        sheet_title(sheet, operands->texts[0], NULL);
        call_stats_answer_put(sheet, &stats, &limit);
    }
    const int code = sheet_answer(&cmd_pstats, &operands->wish, sheet, status);
    prof_file_close(&file);
    return code;
}

#define AT(field) offsetof(struct pstats_values, field)
static const struct option options[] = {
    {TEXT_ROW('l', "limit", "N|F", AT(limit),
              "show N functions; with a decimal point, a share of them: 0.5")},
    {CHOICE_ROW('s', "sort", "ORDER", call_stats_orders, AT(sort),
                "sort key, as in pstats (default: cumulative)")},
};

const struct command cmd_pstats = {
    .purpose = "print a .prof file as pstats does",
    .summary = "Prints a profile of Python functions (.prof) as Python's pstats does.",
    .about = {"The text equals that of Python's "
              "pstats.Stats(FILE).strip_dirs().sort_stats(ORDER).print_stats(LIMIT) byte for byte, "
              "without its line with the file's name. It leaves out folders and merges functions "
              "that then have the same name.",
              "gait.profilers.Advanced(dump_stats=True) writes such files, and so do cProfile and "
              "Lightning's AdvancedProfiler.",
              "In JSON and CSV times are in seconds, as in the file."},
    .examples = {{"gait pstats fit-profile-run_training_epoch.prof --limit 20",
                  "Show the 20 functions that took longest, with their calls."}},
    .exit_status = "0: success. 2: wrong usage, or unreadable input.",
    .line = {.command = "pstats",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 1,
             .operands = "FILE",
             .has_sheet = true},
    .is_rare = true,
    .run = run,
};
