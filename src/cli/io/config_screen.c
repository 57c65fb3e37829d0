// SPDX-License-Identifier: Apache-2.0
#include "cli/io/config_screen.h"

#include <string.h>

#include "config/config_json.h"
#include "config/setting_value.h"
#include "render/plain.h"

enum { NAME_COLUMNS = 34, VALUE_COLUMNS = 20, TEXT_COLUMN = 4 };

struct origin {
    char text[SETTING_VALUE_BYTES];
};

// "config.yaml:3, as 'wait_steps'"
static struct origin origin_of(const struct config_entry *entry)
{
    const struct setting *setting = &setting_table[entry->id];
    struct origin origin;
    bool has_name = strcmp(entry->spelled, setting_key(setting)) != 0 &&
                    strcmp(entry->spelled, setting->name) != 0;
    if (*entry->spelled && (has_name || entry->is_implied))
        snprintf(origin.text, sizeof origin.text, "%s, %s '%s'", entry->where,
                 entry->is_implied ? "by" : "as", entry->spelled);
    else
        snprintf(origin.text, sizeof origin.text, "%s", entry->where);
    return origin;
}

static const char *shown(const char *text)
{
    return *text ? text : "-";
}

// What does not fit behind the value goes below it.
static void put_winner(FILE *out, const struct config_entry *winner)
{
    struct origin origin = origin_of(winner);
    const char *text = shown(winner->text);
    fprintf(out, "%-*s ", NAME_COLUMNS, setting_table[winner->id].name);
    bool is_long = strlen(text) > VALUE_COLUMNS ||
                   NAME_COLUMNS + VALUE_COLUMNS + 2 + strlen(origin.text) > PLAIN_COLUMNS;
    if (is_long)
        plain_put_all(out, text);
    else
        plain_put(out, text, VALUE_COLUMNS, PLAIN_LEFT);
    fputs(is_long ? "\n      " : " ", out);
    plain_put_all(out, origin.text);
    fputc('\n', out);
}

static void put_setting(FILE *out, const struct config *config, enum setting_id id)
{
    const struct config_entry *winner = config_entry_of(config, id);
    put_winner(out, winner);
    for (size_t i = config->count; i-- > 0;) {
        const struct config_entry *entry = &config->entries[i];
        bool is_same = entry->level == winner->level && !strcmp(entry->text, winner->text);
        if (entry == winner || entry->id != id || entry->level == CONFIG_DEFAULT || is_same)
            continue;
        fputs("      over ", out);
        plain_put_all(out, shown(entry->text));
        fputs(": ", out);
        plain_put_all(out, origin_of(entry).text);
        fputc('\n', out);
    }
}

void config_screen_put(FILE *out, const struct config *config, bool only_said)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (!only_said || !config_is_default(config, (enum setting_id)i))
            put_setting(out, config, (enum setting_id)i);
}

void config_screen_notices(FILE *out, const struct config *config)
{
    static const char before[] = "note: ";
    for (size_t i = 0; i < config->notice_count; i++) {
        fputs(before, out);
        plain_wrap(out, config->notices[i], 2, sizeof before - 1);
    }
}

static void put_aliases(FILE *out, enum setting_id id, const char *quote)
{
    const char *before = "";
    for (unsigned i = 0; i < setting_alias_count; i++) {
        if (setting_aliases[i].means != id)
            continue;
        fprintf(out, "%s%s%s%s", before, quote, setting_aliases[i].name, quote);
        before = ", ";
    }
}

static bool has_alias(enum setting_id id)
{
    for (unsigned i = 0; i < setting_alias_count; i++)
        if (setting_aliases[i].means == id)
            return true;
    return false;
}

void config_screen_table(FILE *out)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &setting_table[i];
        char takes[512];
        setting_describe_values(setting, takes, sizeof takes);
        fprintf(out, "%s (%s)\n%*s", setting->name, shown(setting->standard), TEXT_COLUMN, "");
        plain_wrap(out, setting->help, TEXT_COLUMN, TEXT_COLUMN);
        fprintf(out, "%*s", TEXT_COLUMN, "");
        plain_wrap(out, takes, TEXT_COLUMN, TEXT_COLUMN);
        fprintf(out, "%*s%s", TEXT_COLUMN, "", setting->variable);
        if (setting->option)
            fprintf(out, ", gait run --%s", setting->option);
        fputc('\n', out);
        if (has_alias((enum setting_id)i)) {
            fprintf(out, "%*salso: ", TEXT_COLUMN, "");
            put_aliases(out, (enum setting_id)i, "");
            fputc('\n', out);
        }
        if (setting->later) {
            fprintf(out, "%*snot yet: ", TEXT_COLUMN, "");
            plain_wrap(out, setting->later, TEXT_COLUMN, TEXT_COLUMN + 9);
        }
    }
}

static void put_markdown_row(FILE *out, enum setting_id id)
{
    const struct setting *setting = &setting_table[id];
    char takes[512];
    setting_describe_values(setting, takes, sizeof takes);
    fprintf(out, "| `%s` | ", setting_key(setting));
    if (*setting->standard)
        fprintf(out, "`%s`", setting->standard);
    fprintf(out, " | %s; takes %s%s%s | ", setting->help, takes,
            setting->later ? ". Not yet: " : "", setting->later ? setting->later : "");
    put_aliases(out, id, "`");
    fprintf(out, " | `%s`", setting->variable);
    if (setting->option)
        fprintf(out, ", `gait run --%s`", setting->option);
    fputs(" |\n", out);
}

void config_screen_markdown(FILE *out)
{
    static const char *const sections[] = {"profiling", "recording"};
    fputs("<!-- Made by `make docs` from the table in src/config. Do not edit. -->\n"
          "# Settings\n\n"
          "Command line > `GAIT_*` variables > file > defaults; "
          "[howto/configure.md](howto/configure.md) says how to give them.\n",
          out);
    for (size_t i = 0; i < 2; i++) {
        fprintf(out,
                "\n## %s\n\n| key | default | what | also called | variable |\n"
                "|---|---|---|---|---|\n",
                sections[i]);
        for (int id = 0; id < SETTING_COUNT; id++)
            if (!strncmp(setting_table[id].name, sections[i], strlen(sections[i])))
                put_markdown_row(out, (enum setting_id)id);
    }
}
