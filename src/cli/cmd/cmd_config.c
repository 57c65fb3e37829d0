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
             "'%s' is no setting; write profiling.wait=1, or name a file with "
             "--config",
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
        fail(GAIT_ERR_ARGUMENT, "which file? write 'gait config check FILE'");
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
    fail(GAIT_ERR_ARGUMENT, "cannot '%s' a configuration; %s%s%s", operands->texts[0],
         nearest ? "did you mean '" : "it is one of: explain, check, list", nearest ? nearest : "",
         nearest ? "'?" : "");
    return command_refuse(&cmd_config);
}

static const struct option options[] = {
    {.letter = 'c',
     .name = "config",
     .kind = OPTION_TEXT,
     .value = "FILE",
     .help = "settings of that YAML file: gait.yaml, or the 'profiling' section of another; "
             "FILE#SECTION names another section (default: GAIT_CONFIG, else gait.yaml here)",
     .offset = offsetof(struct config_values, file)},
    {.name = "markdown",
     .kind = OPTION_FLAG,
     .help = "of list: the page docs/CONFIG.md",
     .offset = offsetof(struct config_values, is_markdown)},
};

static const char *const about[] = {
    "explain: each setting, its value, where that came from (the command line, the name of a "
    "variable, file and line, default) and what it overrides. The settings of the line are "
    "written as gait run takes them: --profiling.wait 1, --profiling.wait=1 or profiling.wait=1.",
    "check: is the file legal? What it sets, or one sentence with the line where it goes wrong.",
    "list: all settings with their defaults, what they take, their variables, and what other "
    "tools call them.",
    "Command line > GAIT_* variables > file > defaults. In a file that is not gait.yaml only the "
    "section 'profiling' is read, and the arguments of itwinai's trainer; all else is left "
    "alone. Any setting of the section profiling switches profiling on, unless 'enabled' says "
    "otherwise.",
    NULL,
};

static const struct example examples[] = {
    {"gait config explain --profiling.wait 2", "What a run with that option would do, and why."},
    {"gait config check config.yaml", "Before the job waits in a queue for it."},
    {NULL, NULL},
};

const struct command cmd_config = {
    .name = "config",
    .purpose = "show the settings and where they come from",
    .summary = "Explains the settings of a run here (ACTION explain), checks a file of "
               "them (check), or lists them all (list).",
    .about = about,
    .examples = examples,
    .exit_status = "0: answered, or legal. 2: wrong usage, or a setting that is not legal.",
    .line = {.command = "config",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 3,
             .operands = "ACTION [FILE]",
             .choices = actions,
             .has_settings = true,
             .has_sheet = true},
    .usage_status = EXIT_USAGE,
    .run = run,
};
