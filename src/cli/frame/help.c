// SPDX-License-Identifier: Apache-2.0
// `gait --help` and `gait help CMD`: usage, summary, options, one example.
#include "cli/frame/help.h"

#include <string.h>

#include "render/plain.h"

enum { NAME_COLUMN = 25, COMMAND_COLUMN = 14 };

static void print_option(FILE *out, const struct option *option)
{
    char names[64];
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int length = snprintf(names, sizeof names, "  %s--%s%s%s", letter, option->name,
                          option->value ? " " : "", option->value ? option->value : "");
    fputs(names, out);
    if (length + 2 > NAME_COLUMN)
        fprintf(out, "\n%*s", NAME_COLUMN, "");
    else
        fprintf(out, "%*s", NAME_COLUMN - length, "");
    plain_wrap(out, option->help, NAME_COLUMN, NAME_COLUMN);
}

static void print_usage(FILE *out, const struct command *command)
{
    const struct option_table *line = &command->line;
    fprintf(out, "usage: gait %s%s%s%s\n", command->line.command,
            options_at(line, 0) ? " [OPTIONS]" : "", *line->operands ? " " : "", line->operands);
}

static void print_purpose(FILE *out, const char *name, const char *purpose)
{
    fprintf(out, "  %-*s", COMMAND_COLUMN - 2, name);
    plain_wrap(out, purpose, COMMAND_COLUMN, COMMAND_COLUMN);
}

static void print_commands(FILE *out)
{
    char rare[300] = "";
    fputs("\ncommands:\n", out);
    for (const struct command *const *at = commands; *at; at++) {
        const size_t used = strlen(rare);
        if ((*at)->is_rare)
            snprintf(rare + used, sizeof rare - used, "%s%s", used ? ", " : "",
                     (*at)->line.command);
        else
            print_purpose(out, (*at)->line.command, (*at)->purpose);
    }
    print_purpose(out, "also", rare);
}

static void print_options(FILE *out, const struct command *command)
{
    fputs("\noptions:\n", out);
    const struct option *option;
    for (size_t i = 0; (option = options_at(&command->line, i)); i++)
        if (!option->is_other)
            print_option(out, option);
    static const struct option help = {FLAG_ROW('h', "help", 0, "show this text")};
    print_option(out, &help);
    if (command->examples->line)
        // the list of commands leaves gait's own screen no empty line here
        fprintf(out, "%sexample: %s\n", *command->line.command ? "\n" : "",
                command->examples->line);
}

// The list of commands takes the screen, so the rest of it is three lines.
static void print_tool(FILE *out, const struct command *tool)
{
    fputs("usage: gait CMD [OPTIONS] ...   (--version, --help; gait CMD --help)\n", out);
    print_commands(out);
    fprintf(out, "\nexample: %s\n", tool->examples->line);
}

void help_print(FILE *out, const struct command *command)
{
    if (!*command->line.command) {
        print_tool(out, command);
        return;
    }
    print_usage(out, command);
    fputc('\n', out);
    plain_wrap(out, command->summary, 0, 0);
    print_options(out, command);
}
