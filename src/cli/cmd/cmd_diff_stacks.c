// SPDX-License-Identifier: Apache-2.0
// `gait diff-stacks`: which functions have another share of the samples.

#include "answer/sheet.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/row_count.h"
#include "cli/io/sheet_output.h"
#include "cli/io/stack_input.h"
#include "render/shares_text.h"

#define DEFAULT_ROWS 20

struct diff_values {
    const char *rows, *phase;
};

static int put(struct sheet *sheet, const struct stack_set sets[2], uint64_t rows)
{
    struct function_shares shares;
    int status = function_shares_compare(&sets[0], &sets[1], &shares);
    if (status)
        return status;
    const struct shares_text text = {
        .shares = &shares, .rows = rows, .bad_lines = {sets[0].bad_lines, sets[1].bad_lines}};
    sheet_title(sheet, "Changes", NULL);
    shares_text_put_changes(sheet, &text);
    function_shares_finish(&shares);
    return GAIT_OK;
}

static int run(const void *given, const struct operands *operands)
{
    const struct diff_values *values = given;
    struct stack_set sets[2] = {{.entry_count = 0}};
    struct sheet *sheet = NULL;
    uint64_t rows = DEFAULT_ROWS;
    if (row_count_read(values->rows, &rows) ||
        sheet_wish_check(&operands->wish, operands->texts[0]) ||
        sheet_wish_check(&operands->wish, operands->texts[1]))
        return command_refuse(&cmd_diff_stacks);
    int status = 0;
    for (int of = 0; of < 2 && status == 0; of++)
        status = stack_input_open_phase(&sets[of], operands->texts[of], values->phase);
    if (status == 0)
        status = sheet_new(&sheet);
    if (status == 0)
        status = put(sheet, sets, rows);
    const int code = sheet_answer(&cmd_diff_stacks, &operands->wish, sheet, status);
    for (int of = 0; of < 2; of++) {
        if (status == 0 && !operands->wish.is_json)
            stack_input_tell_bad(&sets[of], cmd_diff_stacks.line.command, operands->texts[of]);
        stack_set_finish(&sets[of]);
    }
    return code;
}

static const struct option options[] = {
    ROW_COUNT_OPTION(struct diff_values, "20"),
    PHASE_OPTION(struct diff_values),
};

const struct command cmd_diff_stacks = {
    .purpose = "compare the samples of two recordings",
    .summary = "Shows the functions whose share of the samples changed.",
    .about = {"BEFORE and AFTER are paths as gait leaf takes them: recordings of gait record, "
              "files of folded stacks (py-spy's raw format, or any tool's), or folders of either. "
              "Both need not be of the same kind. A function counts as the same if one side gives "
              "its short path and the other its full path.",
              "Each share is a share of the samples on its own side, so you can compare recordings "
              "of different length. The columns count the samples in which a function was "
              "innermost (itself) and those in which it was anywhere on the stack (in all; "
              "recursion counts once). Line numbers do not matter, so code that only moved in its "
              "file has not changed.",
              "A question mark marks a change that may be chance: it is within two and a half "
              "standard deviations for counts of that size."},
    .examples = {{"gait diff-stacks monday.gait tuesday.gait",
                  "Show which functions became slower."},
                 {"gait diff-stacks -n all --json before.txt nodes", "Show all changes, as JSON."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "diff-stacks",
             OPTIONS_ARE(options),
             .min_operands = 2,
             .max_operands = 2,
             .operands = "BEFORE AFTER",
             .has_sheet = true},
    .is_rare = true,
    .run = run,
};
