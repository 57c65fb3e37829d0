// SPDX-License-Identifier: Apache-2.0
// `gait leaf`: where samples ended.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "cli/command.h"
#include "cli/stack_input.h"
#include "render/leaf_text.h"

#define DEFAULT_ROWS 10

struct leaf_values {
    const char *rows, *library, *by;
    bool is_aggregated, without_modules, is_json;
};

static const char *const groups[] = {"process", "rank", "thread", NULL};

static int read_rows(const char *text, uint64_t *ret_rows)
{
    char *end;
    if (!text) {
        *ret_rows = DEFAULT_ROWS;
        return 0;
    }
    if (!strcmp(text, "all")) {
        *ret_rows = UINT64_MAX;
        return 0;
    }
    errno = 0;
    const long long rows = strtoll(text, &end, 10);
    if (*end || errno || rows < 1)
        return fail(GAIT_ERR_ARGUMENT, "'--num-rows' takes a number from 1 on, or all, not '%s'",
                    text);
    *ret_rows = (uint64_t)rows;
    return 0;
}

static int put(const struct leaf_values *values, const struct stack_set *set, uint64_t rows)
{
    struct leaf_options options = {.library = values->library,
                                   .is_aggregated = values->is_aggregated,
                                   .without_modules = values->without_modules};
    struct leaf_report report;
    for (int i = 0; values->by && groups[i]; i++)
        if (!strcmp(values->by, groups[i]))
            options.by = (enum leaf_group)(i + 1);
    int status = leaf_report_make(set, &options, &report);
    if (status)
        return status;
    const struct leaf_text text = {.report = &report,
                                   .set = set,
                                   .has_library = values->library,
                                   .group = values->by,
                                   .rows = rows};
    if (values->is_json)
        leaf_text_put_json(stdout, &text);
    else
        leaf_text_put(stdout, &text);
    leaf_report_finish(&report);
    if (!values->is_json && set->bad_lines) {
        fflush(stdout);
        fprintf(stderr, "gait leaf: %" PRIu64 " of %" PRIu64 " lines are no stacks\n",
                set->bad_lines, set->lines);
    }
    return 0;
}

static int run(const void *given, const struct operands *operands)
{
    const struct leaf_values *values = given;
    struct stack_set set;
    uint64_t rows = DEFAULT_ROWS;
    int status = read_rows(values->rows, &rows);
    if (status)
        return command_refuse(&cmd_leaf);
    status = stack_set_init(&set);
    if (status == 0)
        status = stack_input_read(&set, operands->texts[0]);
    if (status == 0)
        status = put(values, &set, rows);
    const int code = status ? command_refuse(&cmd_leaf) : command_finish_output(&cmd_leaf);
    stack_set_finish(&set);
    return code;
}

static const struct option options[] = {
    {.letter = 'n',
     .name = "num-rows",
     .kind = OPTION_TEXT,
     .value = "N",
     .help = "rows to show, or all (default: 10)",
     .offset = offsetof(struct leaf_values, rows)},
    {.letter = 'a',
     .name = "aggregate",
     .kind = OPTION_FLAG,
     .help = "make one row of equal leaves of different stacks",
     .offset = offsetof(struct leaf_values, is_aggregated)},
    {.letter = 'l',
     .name = "library",
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "the innermost function whose path contains NAME too",
     .offset = offsetof(struct leaf_values, library)},
    {.name = "by",
     .kind = OPTION_CHOICE,
     .value = "WHAT",
     .help = "shares of each process, rank or thread",
     .offset = offsetof(struct leaf_values, by),
     .choices = groups},
    {.name = "without-modules",
     .kind = OPTION_FLAG,
     .help = "leave <module> frames out, as itwinai does",
     .offset = offsetof(struct leaf_values, without_modules)},
    COMMAND_JSON_OPTION(struct leaf_values, "answer in JSON"),
};

static const char *const about[] = {
    "PATH is a recording of gait record, a file of folded stacks (py-spy's raw, or any tool's: "
    "frames with semicolons between them and a count), or a folder of either. Lines that are no "
    "stacks are counted and told; frames without a file or a line, of native code, processes and "
    "threads are understood.",
    "A row is a stack's innermost function; its share is of all samples, or with --by of those of "
    "its process, rank or thread. It is the report that itwinai makes of py-spy's output "
    "(generate-py-spy-report), except that code at module level keeps its samples.",
    NULL,
};

static const struct example examples[] = {
    {"gait leaf -a --library mypkg stacks.txt", "Which lines of mypkg lead to the time."},
    {"gait leaf -n all --by rank run1", "Every leaf, rank by rank."},
    {NULL, NULL},
};

const struct command cmd_leaf = {
    .name = "leaf",
    .purpose = "list the functions where samples ended",
    .summary = "Lists the innermost functions of sampled stacks, most samples first.",
    .about = about,
    .examples = examples,
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "leaf", COMMAND_READS_PATH(options)},
    .usage_status = EXIT_USAGE,
    .run = run,
};
