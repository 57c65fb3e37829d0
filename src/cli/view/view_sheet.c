// SPDX-License-Identifier: Apache-2.0
// The report, and a page for each line of src/answer/answers.def. A query is read as the
// options of the command line, but for those that name files.
#define _GNU_SOURCE
#include "cli/view/view_sheet.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "answer/answers.h"
#include "answer/report/report_answer.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/peak_flops.h"
#include "cli/trace/choice_input.h"
#include "cli/view/view_run.h"
#include "view/http_request.h"

enum { MOST_WORDS = 32 };

const struct view_sheet view_sheets[] = {
    {"report", "where the time went: verdict, steps, phases"},
#define ANSWER(name, purpose) {#name, (purpose)},
#include "answer/answers.def"
    {.name = NULL},
};

static const struct answer *const answers[] = {
    NULL, // the report
#define ANSWER(name, purpose) &name##_answer,
#include "answer/answers.def"
};

// --- the query ----------------------------------------------------------------------------

static bool names_a_file(const struct option *option)
{
    static const char *const values[] = {"FILE", "DIR", "PATH"};
    for (size_t i = 0; option->value && i < sizeof values / sizeof values[0]; i++)
        if (!strcmp(option->value, values[i]))
            return true;
    return false;
}

static int check_word(const struct option_table *table, const char *word)
{
    const struct option *option = options_find(table, word, strcspn(word, "="));
    if (!option)
        return fail(GAIT_ERR_ARGUMENT, "this page has no option '%.*s'", (int)strcspn(word, "="),
                    word);
    if (names_a_file(option))
        return fail(GAIT_ERR_ARGUMENT, "a page opens no file: leave '%s' out", option->name);
    return GAIT_OK;
}

// "rows=20&json" as the words --rows=20 --json. The texts belong to the caller.
static int split(const struct option_table *table, char *query, char *words[MOST_WORDS],
                 int *ret_count)
{
    char *rest = query, *part;
    while ((part = strsep(&rest, "&"))) {
        if (!*part)
            continue;
        if (*ret_count == MOST_WORDS)
            return fail(GAIT_ERR_ARGUMENT, "more than %d options", MOST_WORDS);
        if (!http_text_decode(part, true))
            return fail(GAIT_ERR_ARGUMENT, "the query is not well formed");
        int status = check_word(table, part);
        if (status)
            return status;
        const size_t bytes = strlen(part) + 3;
        char *word = malloc(bytes);
        if (!word)
            return fail(GAIT_ERR_MEMORY, "no memory for an option");
        snprintf(word, bytes, "--%s", part);
        words[(*ret_count)++] = word;
    }
    return GAIT_OK;
}

// --- sheets -------------------------------------------------------------------------------

static int make_report(const struct view_run *run, struct sheet **ret_sheet)
{
    struct run_report report;
    double peak_flops;
    int status = peak_flops_read(NULL, &peak_flops);
    if (status)
        return status;
    status = run_report_make(&report, run->trace);
    report.peak_flops = peak_flops;
    if (!status)
        status = report_answer_make(&report, run->trace, run->path, ret_sheet);
    run_report_finish(&report);
    return status;
}

static struct option_table table_of(const struct answer *answer)
{
    struct option_table table = {.command = "view"};
    if (answer) {
        table.options = answer->options;
        table.count = answer->count;
        table.choice = answer->choice;
    }
    return table;
}

static int make_answer(const struct answer *answer, const struct view_run *run, int count,
                       char **words, struct sheet **ret_sheet)
{
    alignas(max_align_t) char values[COMMAND_VALUES_BYTES] = {0};
    const struct option_table table = table_of(answer);
    struct operands operands = {.count = 0};
    struct choice_input choice;
    struct asked asked = {
        .trace = run->trace, .path = run->path, .values = values, .choice = &choice.choice};
    int status = options_parse(&table, count, words, values, &operands);
    if (status)
        return status == OPTIONS_HELP ? fail(GAIT_ERR_ARGUMENT, "a page has no help") : status;
    status = choice_input_read(&choice, answer->choice, &operands);
    if (!status)
        status = choice_input_apply(&choice, &asked.trace);
    asked.chosen = choice_input_chosen(&choice);
    if (!status)
        status = sheet_new(ret_sheet);
    if (!status)
        status = answer->put(*ret_sheet, &asked);
    if (!status)
        choice_input_put(&choice, *ret_sheet);
    choice_input_finish(&choice);
    return status ? status : sheet_status(*ret_sheet);
}

int view_sheet_make(size_t number, const struct view_run *run, char *query,
                    struct sheet **ret_sheet)
{
    const struct answer *answer = answers[number];
    const struct option_table table = table_of(answer);
    char *words[MOST_WORDS];
    int count = 0;
    *ret_sheet = NULL;
    int status = split(&table, query, words, &count);
    if (!status)
        status = answer ? make_answer(answer, run, count, words, ret_sheet)
                        : make_report(run, ret_sheet);
    for (int i = 0; i < count; i++)
        free(words[i]);
    return status;
}
