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
    fprintf(out, *command->name ? "gait\\-%s" : "gait%s", command->name);
}

static void put_header(FILE *out, const struct command *command)
{
    fputs(".\\\" Made by `make docs` from the tables in src/cli. Do not edit.\n.TH GAIT", out);
    if (*command->name)
        fputc('-', out);
    for (const char *at = command->name; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    fputs(" 1 \"\" \"gait " GAIT_VERSION "\" \"gait\"\n.SH NAME\n", out);
    put_page_name(out, command);
    put_line(out, " \\- ", command->purpose);
    fprintf(out, ".SH SYNOPSIS\n.B gait%s%s\n", *command->name ? " " : "", command->name);
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
     "Run directory: shards go there. It may be shared by any number of processes. gait run sets "
     "it for the program and uses it when no --output is given.",
     "  run "},
    {"GAIT_ENABLE", "0 switches recording off: programs run as if gait were not there.", "  run "},
    {"GAIT_OVERFLOW",
     "What a thread does when its buffer is full: drop (count and go on, the default), block "
     "(wait), overwrite (keep the newest: a flight recorder). Of a value that makes no sense, here "
     "and in GAIT_RING, the default is used, and the report says so.",
     "  run "},
    {"GAIT_RING", "Size of each thread's buffer, 4K to 1G, such as 16M; 1M is the default.",
     "  run "},
    {"GAIT_RANK, RANK", "The process's rank in its job, in this order of preference.", "  run "},
    {"GAIT_CLOCK", "raw: read CLOCK_MONOTONIC_RAW even where the processor counts steady ticks.",
     "  run "},
    {"GAIT_TORCH_WINDOWS",
     "Steps of PyTorch with ops on record, as --windows has them. Of a value that makes no sense "
     "the default is used.",
     "  run plan "},
    {"GAIT_TRIGGER_SIGNAL",
     "USR2: a process that trains takes this signal as gait trigger's request. Without it no "
     "signal is touched.",
     "  run trigger "},
    {"GAIT_CONFIG", "YAML file with settings, as --config names it.", " run plan config "},
    {"GAIT_PROFILING_...",
     "A setting of the section profiling each: GAIT_PROFILING_WAIT is profiling.wait. gait config "
     "list has them.",
     " run plan config "},
    {"GAIT_CACHE_DIR",
     "Where imported traces of other tools are kept; else gait in XDG_CACHE_HOME or ~/.cache.",
     "  report info breakdown export "},
    {"GAIT_RUN_ID", "32 hexadecimal digits that the shards of one run share; gait run sets it.",
     "  run "},
    {"GAIT_INVOCATION", "The same of one gait run: several may record into one run, a node each.",
     "  run "},
    {"GAIT_BEGAN",
     "When gait run started the program, in ns of the system's clock since its boot: what it "
     "started is not older.",
     "  run "},
    {"NO_COLOR", "When set and not empty, reports use no colour even on a terminal.",
     "  report info "},
};

static void put_environment(FILE *out, const struct command *command)
{
    char word[32];
    bool any = false;
    snprintf(word, sizeof word, " %s ", command->name);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        if (*command->name && !strstr(variables[i].pages, word))
            continue;
        if (!any)
            fputs(".SH ENVIRONMENT\n", out);
        any = true;
        put_line(out, ".TP\n.B ", variables[i].name);
        put_line(out, "", variables[i].what);
    }
}

static void put_examples(FILE *out, const struct example *example)
{
    if (!example || !example->line)
        return;
    fputs(".SH EXAMPLES\n", out);
    for (; example->line; example++) {
        put_line(out, ".TP\n.B ", example->line);
        put_line(out, "", example->what);
    }
}

// The page of gait itself names all others; each of these names only that one, so that a new
// command changes one page.
static void put_see_also(FILE *out, const struct command *command)
{
    fputs(".SH SEE ALSO\n", out);
    if (*command->name)
        fputs("\\fBgait\\fR(1)", out);
    for (const struct command *const *at = commands; *at && !*command->name; at++) {
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
    for (const char *const *at = command->about; at && *at; at++)
        put_line(out, ".PP\n", *at);
    if (!*command->name)
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
