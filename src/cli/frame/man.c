// SPDX-License-Identifier: Apache-2.0
// Plain man(7) macros, no date: a page changes only when a table does.
#include "cli/frame/man.h"

#include <ctype.h>
#include <string.h>

#include "cli/version.h"

// Text in which no character means anything to roff.
static void put_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void put_line(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    put_text(out, text);
    fputc('\n', out);
}

// "gait-run", or "gait" for the tool itself.
static void put_page_name(FILE *out, const struct command *command)
{
    fprintf(out, *command->line.command ? "gait\\-%s" : "gait%s", command->line.command);
}

static void put_header(FILE *out, const struct command *command)
{
    fputs(".\\\" Made by `make docs` from the tables in src/cli. Do not edit.\n.TH GAIT", out);
    if (*command->line.command)
        fputc('-', out);
    for (const char *at = command->line.command; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    fputs(" 1 \"\" \"gait " GAIT_VERSION "\" \"gait\"\n.SH NAME\n", out);
    put_page_name(out, command);
    put_line(out, " \\- ", command->purpose);
    fprintf(out, ".SH SYNOPSIS\n.B gait%s%s\n", *command->line.command ? " " : "",
            command->line.command);
    if (options_at(&command->line, 0))
        fputs("[\\fIOPTIONS\\fR]\n", out);
    if (*command->line.operands)
        put_line(out, "", command->line.operands);
}

static void put_option(FILE *out, const struct option *option)
{
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB", out);
    put_text(out, "--");
    put_text(out, option->name);
    fputs("\\fR", out);
    if (option->value)
        fprintf(out, " \\fI%s\\fR", option->value);
    put_line(out, "\n", option->help);
}

static void put_commands(FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (const struct command *const *at = commands; *at; at++) {
        fputs(".TP\n\\fB", out);
        put_page_name(out, *at);
        put_line(out, "\\fR(1)\n", (*at)->purpose);
    }
}

struct variable {
    const char *name, *what;
    const char *pages; // the commands that heed it, each with blanks around
};

static const struct variable variables[] = {
    {"GAIT_DIR",
     "Run directory for the shards. Any number of processes may share it. gait run sets it for the "
     "program, and uses it if --output is not given.",
     "  run "},
    {"GAIT_ENABLE", "0 turns recording off: programs run as if gait were not installed.", "  run "},
    {"GAIT_OVERFLOW",
     "What a thread does when its buffer is full: drop (count the lost events and go on, the "
     "default), block (wait), overwrite (keep the newest events, like a flight recorder). An "
     "invalid value here or in GAIT_RING is ignored: gait uses the default, and the report says "
     "so.",
     "  run "},
    {"GAIT_RING", "Size of each thread's buffer, 4K to 1G, such as 16M; 1M is the default.",
     "  run "},
    {"GAIT_RANK",
     "The rank of the process in its job, where its launcher does not tell it. It wins over "
     "the variables of launchers.",
     "  run "},
    {"GAIT_TAGS", "Tags of the run, as for --tag: lr=0.1,model=big.", "  run "},
    {"GAIT_METADATA", "0: as --no-metadata.", "  run "},
    {"GAIT_CLOCK", "raw: read CLOCK_MONOTONIC_RAW even if the processor's tick counter is steady.",
     "  run "},
    {"GAIT_TORCH_WINDOWS",
     "PyTorch steps whose ops are recorded, as for --windows. gait ignores an invalid value and "
     "uses the default.",
     "  run plan "},
    {"GAIT_TRIGGER_SIGNAL",
     "USR2: a training process treats SIGUSR2 like a request of gait trigger. Without this "
     "variable gait handles no signal.",
     "  run trigger "},
    {"GAIT_CONFIG", "YAML file with settings, as for --config.", " run plan config "},
    {"GAIT_PROFILING_...",
     "One setting of the section profiling each: GAIT_PROFILING_WAIT is profiling.wait. gait "
     "config list shows them all.",
     " run plan config "},
    {"GAIT_CACHE_DIR",
     "Where imported traces of other tools are kept; else gait in XDG_CACHE_HOME or ~/.cache.",
     "  report info breakdown export "},
    {"GAIT_RUN_ID", "Id that all shards of one run share: 32 hexadecimal digits. gait run sets it.",
     "  run "},
    {"GAIT_INVOCATION",
     "Id of one gait run. Several gait run may record into one run, for example one on each node.",
     "  run "},
    {"GAIT_BEGAN",
     "When gait run started the program, in ns since boot. Processes of the program are not older.",
     "  run "},
    {"NO_COLOR", "If this is set and not empty, reports have no colour, even on a terminal.",
     "  report info "},
};

static void put_environment(FILE *out, const struct command *command)
{
    char word[32];
    bool any = false;
    snprintf(word, sizeof word, " %s ", command->line.command);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        if (*command->line.command && !strstr(variables[i].pages, word))
            continue;
        if (!any)
            fputs(".SH ENVIRONMENT\n", out);
        any = true;
        put_line(out, ".TP\n.B ", variables[i].name);
        put_line(out, "", variables[i].what);
    }
}

static void put_examples(FILE *out, const struct example *examples)
{
    for (size_t i = 0; i < EXAMPLES_MOST && examples[i].line; i++) {
        put_line(out, i ? ".TP\n.B " : ".SH EXAMPLES\n.TP\n.B ", examples[i].line);
        put_line(out, "", examples[i].what);
    }
}

// The page of gait itself names all others; each of these names only that one, so that a new
// command changes one page.
static void put_see_also(FILE *out, const struct command *command)
{
    fputs(".SH SEE ALSO\n", out);
    if (*command->line.command)
        fputs("\\fBgait\\fR(1)", out);
    for (const struct command *const *at = commands; *at && !*command->line.command; at++) {
        if (at != commands)
            fputs(", ", out);
        fputs("\\fB", out);
        put_page_name(out, *at);
        fputs("\\fR(1)", out);
    }
    fputc('\n', out);
}

void man_print(FILE *out, const struct command *command)
{
    put_header(out, command);
    put_line(out, ".SH DESCRIPTION\n", command->summary);
    for (size_t i = 0; i < ABOUT_MOST && command->about[i]; i++)
        put_line(out, ".PP\n", command->about[i]);
    if (!*command->line.command)
        put_commands(out);
    fputs(".SH OPTIONS\n", out);
    const struct option *option;
    for (size_t i = 0; (option = options_at(&command->line, i)); i++)
        put_option(out, option);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow the options and leave\n", out);
    if (command->exit_status)
        put_line(out, ".SH EXIT STATUS\n", command->exit_status);
    put_environment(out, command);
    put_examples(out, command->examples);
    put_see_also(out, command);
}
