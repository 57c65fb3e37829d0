// SPDX-License-Identifier: Apache-2.0
// Follows the line as options_parse() would, without judging it: somebody is still
// typing. What does not begin as the word does, the shell leaves out.
#include "cli/frame/completion.h"

#include <string.h>

#include "cli/frame/command.h"
#include "cli/io/own_pythons.h"
#include "config/setting_alias.h"

enum { NO_PROGRAM = -1 };

struct line {
    char *const *words;
    int last, next;                   // the word to complete, the one to read
    const struct option_table *table; // of the command
    const struct option *option;      // the last word is its value
    const struct setting *setting;    // likewise
    int operand_count, program;       // where the line of another program begins
    bool only_operands;
};

// ---- following the line -----------------------------------------------------

// The option of "--name", "--name=value" or "-qo" that has a value, or NULL.
static const struct option *valued_option(const struct option_table *table, const char *word)
{
    const struct option *option = NULL;
    if (word[1] == '-') {
        option = options_find(table, word + 2, strcspn(word + 2, "="));
        return option && option_takes_next(option) ? option : NULL;
    }
    for (word++; *word; word++) {
        option = options_find_letter(table, *word);
        if (!option || option_takes_next(option))
            return option && !word[1] ? option : NULL;
    }
    return NULL;
}

static const struct setting *valued_setting(const struct option_table *table, const char *word)
{
    char name[64];
    struct setting_match match;
    const size_t length = word[1] == '-' ? strcspn(word + 2, "=") : 0;
    if (!table->has_settings || !length || length >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    return setting_find_name(name, &match) ? &setting_table[match.id] : NULL;
}

static bool is_option(const struct line *line, const char *word)
{
    return !line->only_operands && word[0] == '-' && word[1];
}

// What "--name" needs may be the next word, or, as bash parts "--name=value", the one
// after the next. A switch of the settings may stand alone.
static void skip_value(struct line *line, const char *word)
{
    const struct option *option = valued_option(line->table, word);
    const struct setting *setting = option ? NULL : valued_setting(line->table, word);
    const bool has_equals = line->next < line->last && !strcmp(line->words[line->next], "=");
    if (strchr(word, '=') || (!option && !setting))
        return;
    if (setting && setting->kind == SETTING_BOOL && !has_equals)
        return;
    line->next += has_equals;
    if (line->next == line->last) {
        line->option = option;
        line->setting = setting;
    } else {
        line->next++;
    }
}

static void skip_word(struct line *line)
{
    const char *word = line->words[line->next++];
    if (is_option(line, word)) {
        line->only_operands = !line->table->has_sides && !strcmp(word, "--");
        skip_value(line, word);
        return;
    }
    if (line->table->stops_at_operand)
        line->program = line->next - 1;
    line->operand_count++;
}

// ---- what fits there --------------------------------------------------------

static void put(FILE *out, const char *before, const char *word, const char *what)
{
    fprintf(out, "%s%s\t%s\n", before, word, what);
}

static void put_choices(FILE *out, const char *const *choices)
{
    fputs("words\n", out);
    for (; choices && *choices; choices++)
        put(out, "", *choices, "");
}

static void put_commands(FILE *out)
{
    fputs("words\n", out);
    for (const struct command *const *at = commands; *at; at++)
        put(out, "", (*at)->line.command, (*at)->purpose);
}

static void put_processes(FILE *out)
{
    struct own_python found[64];
    const size_t count = own_pythons(found, sizeof found / sizeof found[0]);
    fputs("words\n", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%lld\t%s\n", (long long)found[i].pid, found[i].line);
}

static void put_files(FILE *out)
{
    fputs("files\n", out);
}

static void put_folders(FILE *out)
{
    fputs("folders\n", out);
}

static void put_runs(FILE *out)
{
    fputs("runs\n", out);
}

// What the help calls a value or an operand tells what it may be.
static const struct {
    const char *name;
    void (*put)(FILE *out);
} kinds[] = {
    {"AFTER", put_runs}, {"BEFORE", put_runs}, {"CMD", put_commands},  {"DIR", put_folders},
    {"FILE", put_files}, {"PATH", put_runs},   {"PID", put_processes},
};

static void put_kind(FILE *out, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].name) == length && !memcmp(kinds[i].name, name, length)) {
            kinds[i].put(out);
            return;
        }
    put_choices(out, NULL);
}

static void put_values_of_setting(FILE *out, const struct setting *setting)
{
    static const char *const truths[] = {"true", "false", NULL};
    if (setting->kind == SETTING_TEXT)
        put_files(out);
    else
        put_choices(out, setting->kind == SETTING_BOOL ? truths : setting->choices);
}

static void put_values(FILE *out, const struct option *option, const struct setting *setting)
{
    if (setting)
        put_values_of_setting(out, setting);
    else if (option->choices)
        put_choices(out, option->choices);
    else
        put_kind(out, option->value, strlen(option->value));
}

// The settings are many: the names of their sections, until one is typed.
static void put_setting_names(FILE *out, const char *word)
{
    const bool has_section = strchr(word, '.') != NULL;
    const char *before = "";
    for (int i = 0; i < SETTING_COUNT; i++) {
        const char *name = setting_table[i].name;
        const size_t section = strcspn(name, ".") + 1;
        if (has_section)
            put(out, "--", name, setting_table[i].help);
        else if (strncmp(name, before, section) != 0)
            fprintf(out, "--%.*s\tsettings, see gait config list\n", (int)section, name);
        before = name;
    }
}

static void put_option_names(FILE *out, const struct line *line, const char *word)
{
    fputs("words\n", out);
    const struct option *option;
    for (size_t i = 0; (option = options_at(line->table, i)); i++)
        if (!option->is_other)
            put(out, "--", option->name, option->help);
    put(out, "--", "help", "show the options and exit");
    if (line->table->has_settings)
        put_setting_names(out, word);
}

// The name of an operand as the help has it, its brackets left out; the last one
// stands for what follows it.
static void put_operand(FILE *out, const struct option_table *table, int index)
{
    const char *name = table->operands + strspn(table->operands, "[-] ");
    if (table->choices && !index) {
        put_choices(out, table->choices);
        return;
    }
    if ((unsigned)index >= table->max_operands) {
        put_choices(out, NULL);
        return;
    }
    for (; index > 0; index--) {
        name += strcspn(name, " ]");
        name += strspn(name, "[] ");
    }
    put_kind(out, name, strcspn(name, " ].[|"));
}

static void put_last(FILE *out, const struct line *line)
{
    const char *word = line->words[line->last];
    const struct option *option = line->option;
    const struct setting *setting = line->setting;
    if (line->program != NO_PROGRAM) {
        fprintf(out, "program %d\n", line->program);
        return;
    }
    const bool begins_option = !option && !setting && !line->only_operands && word[0] == '-';
    if (begins_option && strchr(word, '=')) {
        option = valued_option(line->table, word);
        setting = option ? NULL : valued_setting(line->table, word);
    }
    if (option || setting)
        put_values(out, option, setting);
    else if (begins_option)
        put_option_names(out, line, word);
    else if (line->table->stops_at_operand && !line->table->choices)
        fprintf(out, "program %d\n", line->last);
    else
        put_operand(out, line->table, line->operand_count);
}

void completion_answer(FILE *out, char *const *words, int count)
{
    struct line line = {
        .words = words, .last = count - 1, .table = &command_gait.line, .program = NO_PROGRAM};
    while (line.next < line.last && words[line.next][0] == '-')
        line.next++;
    const struct command *command = NULL;
    if (line.next == line.last && words[line.last][0] == '-') {
        put_option_names(out, &line, words[line.last]);
        return;
    }
    if (line.next == line.last) {
        put_commands(out);
        return;
    }
    if (commands_find(words[line.next++], &command)) {
        put_choices(out, NULL);
        return;
    }
    line.table = &command->line;
    while (line.next < line.last && line.program == NO_PROGRAM)
        skip_word(&line);
    put_last(out, &line);
}
