// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "config/setting_value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "base/size_text.h"
#include "base/suggest.h"
#include "base/utf8.h"

enum { SHOWN_BYTES = 60 };

const char *setting_value_show(const char *text)
{
    static _Thread_local char shown[2][SHOWN_BYTES + 4];
    static _Thread_local unsigned turn;
    char *out = shown[turn++ % 2];
    size_t length = strnlen(text, SHOWN_BYTES + 1);
    bool is_cut = length > SHOWN_BYTES;
    length = utf8_valid_prefix(text, is_cut ? SHOWN_BYTES : length);
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    snprintf(out + length, sizeof shown[0] - length, "%s", is_cut || text[length] ? "..." : "");
    return out;
}

bool setting_value_bool(const char *text, bool *ret_value)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}, {"n", "y"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (int value = 0; value < 2; value++) {
            if (strcasecmp(text, words[i][value]) != 0)
                continue;
            *ret_value = value == 1;
            return true;
        }
    }
    return false;
}

// "'wait' takes a number of units, 0 or more, not 'one'"
static int refuse(const struct setting *setting, const char *spelled, const char *text)
{
    char takes[512];
    setting_describe_values(setting, takes, sizeof takes);
    return fail(GAIT_ERR_ARGUMENT, "'%s' takes %s, not '%s'", spelled, takes,
                setting_value_show(text));
}

static bool read_number(const struct setting *setting, const char *text, char *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < setting->low || value > setting->high)
        return false;
    snprintf(out, SETTING_VALUE_BYTES, "%lld", value);
    return true;
}

static bool read_size(const struct setting *setting, const char *text, char *out)
{
    uint64_t bytes;
    if (!size_text_read(text, &bytes) || bytes < (uint64_t)setting->low ||
        bytes > (uint64_t)setting->high)
        return false;
    snprintf(out, SETTING_VALUE_BYTES, "%s", text);
    return true;
}

static const char *find_choice(const struct setting *setting, const char *text)
{
    for (const char *const *choice = setting->choices; *choice; choice++)
        if (!strcasecmp(*choice, text))
            return *choice;
    return NULL;
}

static int refuse_choice(const struct setting *setting, const char *spelled, const char *text)
{
    const char *nearest = suggest_nearest(text, setting->choices);
    if (nearest)
        return fail(GAIT_ERR_ARGUMENT, "'%s' cannot be '%s'; did you mean '%s'?", spelled,
                    setting_value_show(text), nearest);
    return refuse(setting, spelled, text);
}

// "CPU, cuda" and torch's own "ProfilerActivity.CPU" give "cpu,cuda".
static int read_list(const struct setting *setting, const char *spelled, const char *text,
                     char *out)
{
    static const char prefix[] = "profileractivity.";
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = text; *at;) {
        char word[64];
        size_t length = strcspn(at, ", ");
        if (!strncasecmp(at, prefix, strlen(prefix)) && length > strlen(prefix)) {
            at += strlen(prefix);
            length -= strlen(prefix);
        }
        snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), at);
        const char *choice = find_choice(setting, word);
        if (length && !choice)
            return refuse_choice(setting, spelled, word);
        if (length)
            used += (size_t)snprintf(out + used, SETTING_VALUE_BYTES - used, "%s%s",
                                     used ? "," : "", choice);
        at += length;
        at += strspn(at, ", ");
        if (used > SETTING_VALUE_BYTES / 2)
            return refuse(setting, spelled, text);
    }
    return used ? GAIT_OK : refuse(setting, spelled, text);
}

static int read_text(const struct setting *setting, const char *spelled, const char *text,
                     char *out)
{
    size_t length = strlen(text);
    const char *why = setting->why_not ? setting->why_not(text) : NULL;
    if (why)
        return fail(GAIT_ERR_ARGUMENT, "'%s' %s, not '%s'", spelled, why, setting_value_show(text));
    if (!length || length >= SETTING_VALUE_BYTES)
        return refuse(setting, spelled, text);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return fail(GAIT_ERR_ARGUMENT,
                        "'%s' must not contain a control character, as '%s' does", spelled,
                        setting_value_show(text));
    if (utf8_valid_prefix(text, length) != length)
        return fail(GAIT_ERR_ARGUMENT, "'%s' takes UTF-8 text", spelled);
    if (setting->is_legal && !setting->is_legal(text))
        return refuse(setting, spelled, text);
    memcpy(out, text, length + 1);
    return GAIT_OK;
}

int setting_value_read(const struct setting *setting, const char *spelled, const char *text,
                       char out[SETTING_VALUE_BYTES])
{
    bool value;
    const char *choice;
    switch (setting->kind) {
    case SETTING_BOOL:
        if (!setting_value_bool(text, &value))
            return refuse(setting, spelled, text);
        snprintf(out, SETTING_VALUE_BYTES, "%s", value ? "true" : "false");
        return GAIT_OK;
    case SETTING_NUMBER:
        return read_number(setting, text, out) ? GAIT_OK : refuse(setting, spelled, text);
    case SETTING_SIZE:
        return read_size(setting, text, out) ? GAIT_OK : refuse(setting, spelled, text);
    case SETTING_CHOICE:
        choice = find_choice(setting, text);
        if (!choice)
            return refuse_choice(setting, spelled, text);
        snprintf(out, SETTING_VALUE_BYTES, "%s", choice);
        return GAIT_OK;
    case SETTING_LIST:
        return read_list(setting, spelled, text, out);
    case SETTING_TEXT:
        return read_text(setting, spelled, text, out);
    }
    return GAIT_OK;
}
