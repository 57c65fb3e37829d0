// SPDX-License-Identifier: Apache-2.0
// `gait config`: the settings, and where each came from. What they are and how
// they are found is in src/config.
#include <stdio.h>
#include <string.h>

#include "answer/sheet.h"
#include "base/fail.h"
#include "base/suggest.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/config_screen.h"
#include "cli/io/sheet_output.h"
#include "config/config.h"

struct config_values {
    const char *file;
    bool is_markdown;
};

static int answer(const struct config *config, const struct sheet_wish *wish, bool is_check,
                  int status)
{
    struct sheet *sheet = NULL;
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        config_screen_put(sheet, config, is_check);
    return sheet_answer(&cmd_config, wish, sheet, status);
}

static int explain(const struct config_values *values, const struct operands *operands)
{
    struct config config;
    const struct config_request request = {
        .size = sizeof request, .file = values->file, .words = &operands->settings};
    if (operands->count > 1) {
        fail(GAIT_ERR_ARGUMENT,
             "'%s' is not a setting; write it like profiling.wait=1, or name a file with --config",
             operands->texts[1]);
        return command_refuse(&cmd_config);
    }
    config_init(&config);
    const int code = answer(&config, &operands->wish, false, config_resolve(&config, &request));
    config_finish(&config);
    return code;
}

// A file by itself: neither this machine's variables nor a line.
static int check(const struct config_values *values, const struct operands *operands)
{
    struct config config;
    const char *file = operands->count > 1 ? operands->texts[1] : values->file;
    const struct config_request request = {
        .size = sizeof request, .file = file, .has_no_variables = true};
    if (operands->count > 2 || !file) {
        fail(GAIT_ERR_ARGUMENT, "the file is missing: write 'gait config check FILE'");
        return command_refuse(&cmd_config);
    }
    if (sheet_wish_check(&operands->wish, file))
        return command_refuse(&cmd_config);
    config_init(&config);
    const int code = answer(&config, &operands->wish, true, config_resolve(&config, &request));
    config_finish(&config);
    return code;
}

static int list(const struct config_values *values, const struct operands *operands)
{
    struct sheet *sheet = NULL;
    if (values->is_markdown) {
        config_screen_markdown(stdout);
        return command_finish_output(&cmd_config);
    }
    const int status = sheet_new(&sheet);
    if (!status)
        config_screen_put_table(sheet);
    return sheet_answer(&cmd_config, &operands->wish, sheet, status);
}

static const char *const actions[] = {"explain", "check", "list", NULL};

static int run(const void *given, const struct operands *operands)
{
    int (*const functions[])(const struct config_values *, const struct operands *) = {explain,
                                                                                       check, list};
    if (sheet_wish_check(&operands->wish, NULL))
        return command_refuse(&cmd_config);
    for (int i = 0; actions[i]; i++)
        if (!strcmp(operands->texts[0], actions[i]))
            return functions[i](given, operands);
    const char *nearest = suggest_nearest(operands->texts[0], actions);
    fail(GAIT_ERR_ARGUMENT, "unknown action '%s'; %s%s%s", operands->texts[0],
         nearest ? "did you mean '" : "it is one of: explain, check, list", nearest ? nearest : "",
         nearest ? "'?" : "");
    return command_refuse(&cmd_config);
}

#define AT(field) offsetof(struct config_values, field)
static const struct option options[] = {
    {TEXT_ROW(
        'c', "config", "FILE", AT(file),
        "read settings from this YAML file: gait.yaml, or any file with a 'profiling' section; "
        "FILE#SECTION names another section (default: GAIT_CONFIG, else gait.yaml here)")},
    {FLAG_ROW(0, "markdown", AT(is_markdown), "for list: print the page docs/CONFIG.md")},
};

const struct command cmd_config = {
    .purpose = "show the settings and where they come from",
    .summary = "Explains the settings that a run in this folder would have (explain), checks a "
               "file (check), or lists all settings (list).",
    .about = {"explain shows each setting: its value, where the value comes from (command line, "
              "variable, file and line, or default) and what it overrides. Give settings as for "
              "gait run: --profiling.wait 1, --profiling.wait=1 or profiling.wait=1.",
              "check tests whether a file is valid. It prints what the file sets, or one sentence "
              "with the line of the first error.",
              "list shows all settings with their defaults, legal values, variables, and names in "
              "other tools.",
              "The command line overrides GAIT_* variables, which override the file, which "
              "overrides the defaults. In a file that is not gait.yaml, gait reads only the "
              "section 'profiling' and the arguments of itwinai's trainer. Any setting of the "
              "section profiling turns profiling on, unless 'enabled' is false."},
    .examples = {{"gait config explain --profiling.wait 2",
                  "Show the settings of a run with that option, and why."},
                 {"gait config check config.yaml", "Check a file before you submit the job."}},
    .exit_status = "0: success. 2: wrong usage, or an invalid setting.",
    .line = {.command = "config",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 3,
             .operands = "ACTION [FILE]",
             .choices = actions,
             .has_settings = true,
             .has_sheet = true},
    .run = run,
};
