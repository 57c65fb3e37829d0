// SPDX-License-Identifier: Apache-2.0
// One loop over the arguments. Every refusal says what was wrong, and names
// the nearest thing that would have been right.
#include "cli/frame/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/seconds_text.h"
#include "base/size_text.h"
#include "base/suggest.h"

struct parse {
    const struct option_table *table;
    char **arguments;
    int count, next;
    char *values; // the command's struct
    struct operands *operands;
};

// Of commands that open a trace, which may be another tool's.
static const struct option trace_option = {
    FLAG_ROW(0, "no-cache", offsetof(struct operands, is_uncached),
             "import another tool's trace anew, and keep nothing")};

static const struct option *choice_at(unsigned choice, size_t *index)
{
    for (size_t i = 0; i < CHOICE_OPTIONS; i++)
        if (choice & choice_options[i].of && !(*index)--)
            return &choice_options[i].option;
    return NULL;
}

const struct option *options_at(const struct option_table *table, size_t index)
{
    if (index < table->count)
        return &table->options[index];
    index -= table->count;
    const struct option *choice = choice_at(table->choice, &index);
    if (choice)
        return choice;
    if (table->has_sheet && index < SHEET_OPTIONS)
        return &sheet_options[index];
    index -= table->has_sheet ? SHEET_OPTIONS : 0;
    return table->has_trace && !index ? &trace_option : NULL;
}

const struct option *options_find(const struct option_table *table, const char *name, size_t length)
{
    const struct option *option;
    for (size_t i = 0; (option = options_at(table, i)); i++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

const struct option *options_find_letter(const struct option_table *table, char letter)
{
    const struct option *option;
    for (size_t i = 0; (option = options_at(table, i)); i++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static int fail_unknown(const struct parse *parse, const char *name, size_t length)
{
    const char *names[64] = {"help"};
    const struct option *option;
    for (size_t i = 0; i + 2 < 64 && (option = options_at(parse->table, i)); i++)
        names[i + 1] = option->name;
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(length < 60 ? length : 60), name);
    const char *nearest = suggest_nearest(typed, names);
    if (nearest)
        return fail(GAIT_ERR_ARGUMENT, "unknown option '--%s'; did you mean '--%s'?", typed,
                    nearest);
    return fail(GAIT_ERR_ARGUMENT, "unknown option '--%s'; see 'gait help%s%s'", typed,
                *parse->table->command ? " " : "", parse->table->command);
}

enum reading { READ_NOTHING, READ_NUMBER, READ_BEYOND };

static enum reading read_number(enum option_kind kind, const char *text, int64_t *ret_value)
{
    uint64_t bytes;
    char *end;
    if (kind == OPTION_SIZE) {
        if (!size_text_read(text, &bytes))
            return READ_NOTHING;
        *ret_value = (int64_t)bytes;
        return bytes > INT64_MAX ? READ_BEYOND : READ_NUMBER;
    }
    errno = 0;
    *ret_value = strtoll(text, &end, 10);
    if (end == text || *end)
        return READ_NOTHING;
    return errno == ERANGE ? READ_BEYOND : READ_NUMBER;
}

static int store_number(const struct option *option, const char *text, char *place)
{
    int64_t value;
    enum reading reading = read_number(option->kind, text, &value);
    if (reading == READ_NOTHING)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' takes %s, not '%s'", option->name,
                    option->kind == OPTION_SIZE ? "a size such as 65536, 64K or 16M"
                                                : "a whole number",
                    text);
    if (reading == READ_BEYOND || value < option->low || value > option->high)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' must be between %lld and %lld, not '%s'",
                    option->name, (long long)option->low, (long long)option->high, text);
    memcpy(place, &value, sizeof value);
    return GAIT_OK;
}

static int store_seconds(const struct option *option, const char *text, char *place)
{
    double seconds;
    const double low = (double)option->low * 1e-3, high = (double)option->high * 1e-3;
    if (!seconds_text_read(text, &seconds))
        return fail(GAIT_ERR_ARGUMENT,
                    "'--%s' takes a time such as 10, 0.5, 500ms, 2m or 1.5h, not '%s'",
                    option->name, text);
    if (!(seconds >= low && seconds <= high))
        return fail(GAIT_ERR_ARGUMENT, "'--%s' must be between %.15g and %.15g seconds, not '%s'",
                    option->name, low, high, text);
    memcpy(place, &seconds, sizeof seconds);
    return GAIT_OK;
}

static int store_choice(const struct option *option, const char *text, char *place)
{
    char all[256] = "";
    size_t used = 0;
    for (const char *const *choice = option->choices; *choice; choice++) {
        if (!strcmp(*choice, text)) {
            memcpy(place, choice, sizeof *choice);
            return GAIT_OK;
        }
        int wrote = snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", *choice);
        used += wrote > 0 && (size_t)wrote < sizeof all - used ? (size_t)wrote : 0;
    }
    const char *nearest = suggest_nearest(text, option->choices);
    if (nearest)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' cannot be '%s'; did you mean '%s'?", option->name,
                    text, nearest);
    return fail(GAIT_ERR_ARGUMENT, "'--%s' cannot be '%s'; it is one of: %s", option->name, text,
                all);
}

static int store_texts(const struct option *option, const char *text, struct option_texts *texts)
{
    if (texts->count == OPTION_MOST_TEXTS)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' may be given %d times at most", option->name,
                    OPTION_MOST_TEXTS);
    texts->texts[texts->count++] = text;
    return GAIT_OK;
}

// Two words of a choice may say the same: neither silently beats the other.
static int check_once(const struct option *option, const char *place)
{
    const char *known;
    memcpy(&known, place, sizeof known);
    return known ? fail(GAIT_ERR_ARGUMENT,
                        "'--%s' chooses what an option before it chose: leave one of them out",
                        option->name)
                 : GAIT_OK;
}

static int store(const struct parse *parse, const struct option *option, const char *text)
{
    const char *at = (const char *)option;
    const bool is_of_sheet = option >= sheet_options && option < sheet_options + SHEET_OPTIONS;
    const bool is_of_choice =
        at >= (const char *)choice_options && at < (const char *)(choice_options + CHOICE_OPTIONS);
    char *place = is_of_sheet               ? (char *)&parse->operands->wish
                  : is_of_choice            ? (char *)&parse->operands->choice
                  : option == &trace_option ? (char *)parse->operands
                                            : parse->values;
    place += option->offset;
    if (is_of_choice && check_once(option, place))
        return GAIT_ERR_ARGUMENT;
    if (option->kind == OPTION_MAYBE && !text)
        text = "";
    else if (option->kind == OPTION_MAYBE && !*text)
        return fail(GAIT_ERR_ARGUMENT, "'--%s=' needs a value behind it", option->name);
    if ((option->kind == OPTION_TEXT || option->kind == OPTION_OPERAND) && !*text)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' needs a %s that is not empty", option->name,
                    option->value);
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)(void *)place = true;
        return GAIT_OK;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        memcpy(place, &text, sizeof text);
        return GAIT_OK;
    case OPTION_OPERAND: // behind the reading place, as all operands are put
        memcpy(&parse->arguments[parse->operands->count++], &text, sizeof text);
        return GAIT_OK;
    case OPTION_TEXTS:
        return store_texts(option, text, (struct option_texts *)(void *)place);
    case OPTION_NUMBER:
    case OPTION_SIZE:
        return store_number(option, text, place);
    case OPTION_SECONDS:
        return store_seconds(option, text, place);
    case OPTION_CHOICE:
        return store_choice(option, text, place);
    }
    return GAIT_OK;
}

// The value after the option: what stands behind it, else the next argument.
static int store_with_value(struct parse *parse, const struct option *option, const char *attached)
{
    if (!option_takes_next(option) || attached)
        return store(parse, option, attached);
    if (parse->next == parse->count)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' needs a %s", option->name, option->value);
    return store(parse, option, parse->arguments[parse->next++]);
}

static int parse_long(struct parse *parse, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const struct option *option = options_find(parse->table, text, length);
    if (!option && !strcmp(text, "help"))
        return OPTIONS_HELP;
    if (!option)
        return fail_unknown(parse, text, length);
    if (equals && option->kind == OPTION_FLAG)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' takes no value", option->name);
    return store_with_value(parse, option, equals ? equals + 1 : NULL);
}

static int parse_letters(struct parse *parse, const char *letters)
{
    for (; *letters; letters++) {
        const struct option *option = options_find_letter(parse->table, *letters);
        if (!option && *letters == 'h')
            return OPTIONS_HELP;
        if (!option)
            return fail(GAIT_ERR_ARGUMENT, "unknown option '-%c'; see 'gait help%s%s'", *letters,
                        *parse->table->command ? " " : "", parse->table->command);
        bool takes_rest = option_takes_next(option);
        int status = store_with_value(parse, option, takes_rest && letters[1] ? letters + 1 : NULL);
        if (status || takes_rest)
            return status;
    }
    return GAIT_OK;
}

static const char uppercase[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static int check_operands(const struct option_table *table, const struct operands *operands)
{
    unsigned count = (unsigned)operands->count;
    const char *blank = *table->command ? " " : "";
    if (count < table->min_operands) {
        const char *name = table->operands + strcspn(table->operands, uppercase);
        for (unsigned i = 0; i < count; i++) {
            name += strcspn(name, " ");
            name += strcspn(name, uppercase);
        }
        return fail(GAIT_ERR_ARGUMENT, "%.*s is missing; see 'gait help%s%s'",
                    (int)strspn(name, uppercase), name, blank, table->command);
    }
    if (count > table->max_operands)
        return fail(GAIT_ERR_ARGUMENT, "'%s' is an extra argument; see 'gait help%s%s'",
                    operands->texts[table->max_operands], blank, table->command);
    return GAIT_OK;
}

// A setting among the options: `--profiling.wait 1`, `profiling.wait=1`. 1: taken.
static int take_setting(struct parse *parse, struct setting_words *words)
{
    const char *text = parse->arguments[parse->next];
    size_t length = text[0] == '-' ? strcspn(text, "=") : 0;
    if (length > 2 && options_find(parse->table, text + 2, length - 2))
        return 0;
    struct setting_line line = {parse->arguments, parse->count, parse->next, true};
    int status = setting_words_take(words, &line);
    parse->next = line.next;
    return status;
}

int options_parse(const struct option_table *table, int argc, char **argv, void *values,
                  struct operands *ret_operands)
{
    struct operands operands = {.texts = argv, .divided_at = -1};
    struct parse parse = {table, argv, argc, 0, values, &operands};
    bool only_operands = false;
    while (parse.next < argc) {
        bool may_be_setting = table->has_settings && !only_operands;
        int status = may_be_setting ? take_setting(&parse, &operands.settings) : 0;
        if (status < 0)
            return status;
        if (status > 0)
            continue;
        char *text = argv[parse.next++];
        if (!only_operands && !strcmp(text, "--")) {
            status = operands.divided_at < 0 ? 0 : fail(GAIT_ERR_ARGUMENT, "'--' stands twice");
            operands.divided_at = operands.count;
            only_operands = !table->has_sides;
        } else if (only_operands || text[0] != '-' || !text[1]) {
            // never ahead of the reading place, so nothing unread is lost
            argv[operands.count++] = text;
            only_operands |= table->stops_at_operand;
        } else if (text[1] == '-') {
            status = parse_long(&parse, text + 2);
        } else {
            status = parse_letters(&parse, text + 1);
        }
        if (status)
            return status;
    }
    int status = check_operands(table, &operands);
    if (!status)
        *ret_operands = operands;
    return status;
}
