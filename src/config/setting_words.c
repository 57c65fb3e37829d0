// SPDX-License-Identifier: Apache-2.0
#include "config/setting_words.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "config/setting_alias.h"
#include "config/setting_value.h"

int setting_words_add(struct setting_words *words, const char *name, const char *value)
{
    if (words->count == SETTING_WORDS_MAX)
        return fail(GAIT_ERR_ARGUMENT,
                    "more than %d settings on one line; write them into a file "
                    "and name it with --config",
                    SETTING_WORDS_MAX);
    snprintf(words->words[words->count].name, SETTING_WORD_BYTES, "%s", name);
    words->words[words->count++].value = value;
    return GAIT_OK;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// "a.b" or "a.b.c", each part a word.
static bool is_dotted(const char *name)
{
    int dots = 0;
    for (const char *at = name;; at++) {
        size_t length = strspn(at, letters);
        if (!length)
            return false;
        at += length;
        if (!*at)
            return dots > 0;
        if (*at != '.')
            return false;
        dots++;
    }
}

static bool has_our_section(const char *name)
{
    return !strncmp(name, "profiling.", 10) || !strncmp(name, "recording.", 10);
}

static int refuse_name(const char *name)
{
    const char *nearest = setting_nearest_name(name);
    if (nearest)
        return fail(GAIT_ERR_ARGUMENT, "unknown setting '%s'; did you mean '%s'?",
                    setting_value_show(name), nearest);
    return fail(GAIT_ERR_ARGUMENT, "unknown setting '%s'; 'gait config list' shows all settings",
                setting_value_show(name));
}

// 1: a setting of ours, 0: not, < 0: looks like one and is none.
static int judge_name(const char *name, const struct setting_line *line)
{
    struct setting_match match;
    if (setting_find_name(name, &match))
        return 1;
    bool is_meant = has_our_section(name) || (line->is_own && is_dotted(name));
    return is_meant ? refuse_name(name) : 0;
}

// A switch may stand alone: `--profiling.with_stack -- python …`.
static const char *value_of_switch(const char *name, const struct setting_line *line)
{
    struct setting_match match;
    bool ignored;
    const char *next = line->next < line->count ? line->arguments[line->next] : NULL;
    if (!setting_find_name(name, &match) || setting_table[match.id].kind != SETTING_BOOL)
        return NULL;
    return next && setting_value_bool(next, &ignored) ? NULL : "true";
}

int setting_words_take(struct setting_words *words, struct setting_line *line)
{
    const char *text = line->arguments[line->next];
    bool is_option = !strncmp(text, "--", 2) && text[2];
    const char *name_at = is_option ? text + 2 : text + strspn(text, "+"); // as Hydra adds keys
    const char *equals = strchr(name_at, '=');
    size_t length = equals ? (size_t)(equals - name_at) : strlen(name_at);
    char name[SETTING_WORD_BYTES];
    if ((!is_option && !equals) || !length || length >= sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)length, name_at);
    int status = judge_name(name, line);
    if (status <= 0)
        return status;
    line->next++;
    const char *value = equals ? equals + 1 : value_of_switch(name, line);
    if (!value && line->next == line->count)
        return fail(GAIT_ERR_ARGUMENT, "'--%s' needs a value", name);
    if (!value)
        value = line->arguments[line->next++];
    status = setting_words_add(words, name, value);
    return status ? status : 1;
}
