// SPDX-License-Identifier: Apache-2.0
// `gait leaf`: where samples ended.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/stacks/function_shares.h"
#include "answer/leaf_answer.h"
#include "answer/shares_answer.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/row_count.h"
#include "cli/io/sheet_output.h"
#include "cli/io/stack_input.h"
#include "launch/say.h"
#include "render/source_heat.h"

#define DEFAULT_ROWS 10
#define SOURCE_LIMIT (64u << 20)

struct leaf_values {
    const char *rows, *library, *by, *source, *phase;
    bool is_aggregated, without_modules, by_function, by_line;
};

static const char *const groups[] = {"process", "rank", "thread", NULL};

static int read_all(int fd, const char *path, struct buffer *out)
{
    enum { PART = 65536 };
    const size_t before = out->used;
    int status = 0;
    ssize_t got = 1;
    while (status == 0 && got) {
        uint8_t *room = buffer_reserve(out, PART);
        got = room ? read(fd, room, PART) : 0;
        if (!room)
            status = fail(GAIT_ERR_MEMORY, "'%s' is too long to be shown", path);
        else if (got > 0)
            out->used += (size_t)got;
        else if (got < 0 && errno != EINTR)
            status = fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    if (status)
        out->used = before;
    return status;
}

// All of a file that samples name. A name from a recording may be that of anything: only regular
// files are read. On failure `out` holds what it held before.
static int source_text_read(const char *path, struct buffer *out)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    int status = fstat(fd, &about) == 0 && S_ISREG(about.st_mode)
                     ? read_all(fd, path, out)
                     : fail(GAIT_ERR_IO, "cannot read '%s': it is not a file", path);
    close(fd);
    return status;
}

// A flame graph has them at its root, so its shares are a little smaller.
static void say_left_out(struct sheet *sheet, uint64_t samples)
{
    char text[100];
    snprintf(text, sizeof text, "%s sample%s in no function %s left out.",
             units_count(samples).text, units_plural(samples), samples == 1 ? "is" : "are");
    if (samples)
        sheet_say(sheet, SAY_LEAD, text);
}

static int put_rows(struct sheet *sheet, const struct leaf_values *values,
                    const struct stack_set *set, uint64_t rows)
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
    const struct leaf_answer answer = {.report = &report,
                                       .set = set,
                                       .has_library = values->library,
                                       .group = values->by,
                                       .rows = rows};
    leaf_answer_put(sheet, &answer);
    say_left_out(sheet, report.left_out);
    leaf_report_finish(&report);
    return 0;
}

static int put_functions(struct sheet *sheet, const struct stack_set *set, uint64_t rows)
{
    struct function_shares shares;
    int status = function_shares_make(set, &shares);
    if (status)
        return status;
    shares_answer_put(sheet, &shares, set, rows);
    say_left_out(sheet, shares.left_out[0]);
    function_shares_finish(&shares);
    return 0;
}

static int put_source(struct sheet *sheet, const struct leaf_values *values,
                      const struct stack_set *set, uint64_t rows)
{
    struct line_shares shares;
    struct buffer text;
    char *whole = realpath(values->source, NULL);
    int status = line_shares_make(set, values->source, whole, &shares);
    free(whole);
    if (status)
        return status;
    buffer_init(&text, SOURCE_LIMIT);
    const bool is_read =
        source_text_read(values->source, &text) == 0 || source_text_read(shares.path, &text) == 0;
    const struct source_heat heat = {
        .shares = &shares,
        .text = {is_read ? text.bytes : NULL, text.used},
        .has_all = rows == UINT64_MAX,
    };
    source_heat_put(sheet, &heat);
    if (!is_read) {
        char words[1024];
        snprintf(words, sizeof words, "%s; the answer shows the shares without the source text",
                 fail_text());
        say_of(cmd_leaf.line.command, words);
        fail_clear();
    }
    line_shares_finish(&shares);
    buffer_finish(&text);
    return 0;
}

// Rows of innermost functions and their lines, as itwinai has them, are asked for by what
// only they can do, too.
static bool is_of_rows(const struct leaf_values *values)
{
    return values->library || values->by || values->is_aggregated || values->without_modules;
}

static bool is_by_line(const struct leaf_values *values)
{
    return values->by_line || is_of_rows(values);
}

// A phase is asked where its time went, and waiting may be most of it.
static void say_blocked(struct sheet *sheet, const struct stack_set *set)
{
    char line[160];
    snprintf(line, sizeof line, "In %s of these %s samples the thread was blocked in the system.",
             units_share(set->blocked, set->samples).text, units_count(set->samples).text);
    if (set->blocked)
        sheet_say(sheet, SAY_LEAD, line);
}

static int put(struct sheet *sheet, const struct leaf_values *values, const struct stack_set *set,
               uint64_t rows)
{
    int status;
    if (values->source)
        status = put_source(sheet, values, set, rows);
    else if (is_by_line(values))
        status = put_rows(sheet, values, set, rows);
    else
        status = put_functions(sheet, set, rows);
    if (!status && values->phase)
        say_blocked(sheet, set);
    return status;
}

static int check(const struct leaf_values *values)
{
    if (values->source && (is_by_line(values) || values->by_function))
        return fail(GAIT_ERR_ARGUMENT,
                    "'--source' goes with '--num-rows all', --phase and output options only");
    if (values->source && values->rows && strcmp(values->rows, "all") != 0)
        return fail(GAIT_ERR_ARGUMENT,
                    "'--source' takes no number of rows; '--num-rows all' shows every line");
    if (values->by_function && is_by_line(values))
        return fail(GAIT_ERR_ARGUMENT,
                    "'--functions' goes with --num-rows, --phase and output options only");
    return 0;
}

// A row for each stack, as itwinai has it, is asked where nothing is summed.
static bool has_line_rows(const struct leaf_values *values)
{
    return is_by_line(values) && !values->is_aggregated && !values->source;
}

static int open_set(const struct leaf_values *values, const char *path, struct stack_set *set)
{
    if (values->phase)
        return stack_input_open_phase(set, path, values->phase);
    return has_line_rows(values) ? stack_input_open_lines(set, path) : stack_input_open(set, path);
}

static int run(const void *given, const struct operands *operands)
{
    const struct leaf_values *values = given;
    const char *path = operands->texts[0];
    struct stack_set set = {0};
    struct sheet *sheet = NULL;
    uint64_t rows = DEFAULT_ROWS;
    if (check(values) || row_count_read(values->rows, &rows) ||
        sheet_wish_check(&operands->wish, path))
        return command_refuse(&cmd_leaf);
    int status = open_set(values, path, &set);
    if (!status)
        status = sheet_new(&sheet);
    if (!status) {
        sheet_title(sheet, path, NULL);
        status = put(sheet, values, &set, rows);
    }
    const int code = sheet_answer(&cmd_leaf, &operands->wish, sheet, status);
    if (!status && !operands->wish.is_json)
        stack_input_tell_bad(&set, cmd_leaf.line.command, path);
    stack_set_finish(&set);
    return code;
}

#define AT(field) offsetof(struct leaf_values, field)
static const struct option options[] = {
    ROW_COUNT_OPTION(struct leaf_values, "10"),
    PHASE_OPTION(struct leaf_values),
    {FLAG_ROW('a', "aggregate", AT(is_aggregated),
              "merge equal leaves of different stacks into one row")},
    {TEXT_ROW('l', "library", "NAME", AT(library),
              "also the innermost function with NAME in its path")},
    {CHOICE_ROW(0, "by", "WHAT", groups, AT(by), "group the shares by process, rank or thread")},
    {FLAG_ROW(0, "without-modules", AT(without_modules),
              "leave out <module> frames, as itwinai does")},
    {FLAG_ROW('f', "functions", AT(by_function),
              "show each function's self and total share (default)")},
    {FLAG_ROW(0, "lines", AT(by_line), "show the innermost function and line of each stack")},
    {TEXT_ROW('s', "source", "FILE", AT(source), "show a source file with the share of each line")},
    STACK_FILE_OPTION,
    {FLAG_ROW(0, "aggregate-leaf-paths", AT(is_aggregated), "as --aggregate, by itwinai's name"),
     .is_other = true},
    {TEXT_ROW(0, "library-name", "NAME", AT(library), "as --library, by itwinai's name"),
     .is_other = true},
};

const struct command cmd_leaf = {
    .purpose = "list the functions that samples found",
    .summary = "Lists the functions of sampled stacks, most samples first.",
    .about = {"PATH is a recording of gait record, a file of folded stacks (py-spy's raw format, "
              "or any tool's: frames separated by semicolons, then a count), or a folder of either "
              "(gait lists its subfolders but does not read them). gait counts and reports lines "
              "that are not stacks. It accepts frames without a file or line, and frames of native "
              "code, processes and threads.",
              "A row is a function, with the number of samples in which it was innermost (self) or "
              "anywhere on the stack (total). A recursive function counts once in each sample.",
              "With --lines, --aggregate, --library, --by or --without-modules, a row is the "
              "innermost function of a stack with its line. Its share is of all samples in "
              "functions; with --by, of those in its process, rank or thread. This is the report "
              "that itwinai makes from py-spy's output (generate-py-spy-report), except that code "
              "at module level keeps its samples.",
              "With --source a row is a line of a file: each line with samples and two lines "
              "around it, or all lines with -n all. FILE may be the last part of its path.",
              "With --phase, PATH is a run of gait run --sample. gait then counts a sample only if "
              "its thread was in this phase, in a step (--phase steps), or in a span of this name. "
              "It includes samples of blocked threads, because their stacks show where a thread "
              "waited. Without --phase it leaves those out.",
              "gait shortens the table to 78 columns (150 with --library), in the middle of names. "
              "Paths of installed packages begin after site-packages. --json has the full names."},
    .examples =
        {{"gait leaf -a --library mypkg stacks.txt", "Show which lines of mypkg lead to the time."},
         {"gait leaf -n all --by rank run1", "Show every leaf, rank by rank."},
         {"gait leaf --phase input run1", "Show what Python ran or waited for in the phase input."},
         {"gait leaf run.gait", "Show the self and total share of each function."},
         {"gait leaf --source train.py run.gait", "Show which lines of train.py take the time."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "leaf", COMMAND_READS_PATH(options), .has_sheet = true},
    .run = run,
};
