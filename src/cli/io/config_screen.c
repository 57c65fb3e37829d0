// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/config_screen.h"

#include <stdlib.h>
#include <string.h>

#include "answer/sheet.h"
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

static void put_notices(FILE *out, const struct config *config)
{
    static const char before[] = "note: ";
    for (size_t i = 0; i < config->notice_count; i++) {
        fputs(before, out);
        plain_wrap(out, config->notices[i], 2, sizeof before - 1);
    }
}

static void print_settings(FILE *out, const struct config *config, bool is_check)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (!is_check || !config_is_default(config, (enum setting_id)i))
            put_setting(out, config, (enum setting_id)i);
    put_notices(out, config);
    if (is_check)
        fprintf(out, "%s: legal\n", config->file);
}

// JSON that is made by src/config, for the sheet.
struct embedded {
    struct json_writer json;
    char *text;
    size_t bytes;
};

static struct json_writer *begin_json(struct embedded *embedded)
{
    *embedded = (struct embedded){.text = NULL};
    embedded->json.out = open_memstream(&embedded->text, &embedded->bytes);
    return embedded->json.out ? &embedded->json : NULL;
}

static void put_json(struct sheet *sheet, const char *key, struct embedded *embedded)
{
    if (embedded->json.out && fclose(embedded->json.out) == 0)
        sheet_put(sheet, key, value_json(embedded->text));
    free(embedded->text);
}

static void put_texts(struct sheet *sheet, const char *key, const char *const *texts, size_t count)
{
    struct embedded embedded;
    struct json_writer *json = begin_json(&embedded);
    if (json) {
        json_array(json);
        for (size_t i = 0; i < count; i++)
            json_text(json, texts[i]);
        json_close(json);
    }
    put_json(sheet, key, &embedded);
}

void config_screen_put(struct sheet *sheet, const struct config *config, bool is_check)
{
    FILE *lines = sheet_lines_begin(sheet);
    if (lines)
        print_settings(lines, config, is_check);
    sheet_lines_end(sheet);
    sheet_title(sheet, "Settings", NULL);
    sheet_put(sheet, "file", value_text(config->file));
    sheet_put(sheet, "has_section", value_bool(config->has_section));
    put_texts(sheet, "notices", config->notices, config->notice_count);
    sheet_object(sheet, "settings");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct config_entry *winner = config_entry_of(config, (enum setting_id)i);
        struct embedded embedded;
        struct json_writer *json = winner ? begin_json(&embedded) : NULL;
        if (json)
            config_json_setting(json, config, winner);
        if (winner)
            put_json(sheet, setting_table[i].name, &embedded);
    }
    sheet_end(sheet);
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

static void print_table(FILE *out)
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
    }
}

static const struct column setting_columns[] = {
    {.key = "name"},     {.key = "kind"},   {.key = "default"}, {.key = "takes"},
    {.key = "variable"}, {.key = "option"}, {.key = "help"},
};
static const struct table settings = {.key = "settings", COLUMNS_ARE(setting_columns)};
static const struct column alias_columns[] = {
    {.key = "name"}, {.key = "means"}, {.key = "unit"}, {.key = "stands_alone"}};
static const struct table aliases = {.key = "aliases", COLUMNS_ARE(alias_columns)};

static void put_setting_row(struct sheet *sheet, const struct setting *setting)
{
    static const char *const kinds[] = {"bool", "number", "size", "choice", "list", "text"};
    struct embedded standard;
    char takes[512];
    size_t choices = 0;
    struct json_writer *json = begin_json(&standard);
    setting_describe_values(setting, takes, sizeof takes);
    if (json)
        config_json_value(json, setting, setting->standard);
    const bool has_standard = json && fclose(json->out) == 0;
    const struct value cells[] = {
        value_text(setting->name),
        value_text(kinds[setting->kind]),
        value_if(has_standard, value_json(standard.text)),
        value_text(takes),
        value_text(setting->variable),
        value_text(setting->option),
        value_text(setting->help),
    };
    sheet_row(sheet, cells, 0);
    free(standard.text);
    if (setting->kind == SETTING_NUMBER || setting->kind == SETTING_SIZE) {
        sheet_put(sheet, "low", value_int(setting->low));
        sheet_put(sheet, "high", value_int(setting->high));
        sheet_put(sheet, "unit", value_text(setting->unit));
    }
    while (setting->choices && setting->choices[choices])
        choices++;
    if (setting->choices)
        put_texts(sheet, "choices", setting->choices, choices);
}

void config_screen_put_table(struct sheet *sheet)
{
    FILE *lines = sheet_lines_begin(sheet);
    if (lines)
        print_table(lines);
    sheet_lines_end(sheet);
    sheet_title(sheet, "All settings", NULL);
    sheet_table(sheet, &settings);
    for (int i = 0; i < SETTING_COUNT; i++)
        put_setting_row(sheet, &setting_table[i]);
    sheet_end(sheet);
    sheet_table(sheet, &aliases);
    for (unsigned i = 0; i < setting_alias_count; i++) {
        const struct setting_alias *alias = &setting_aliases[i];
        SHEET_ROW(sheet, value_text(alias->name), value_text(setting_table[alias->means].name),
                  value_text(alias->unit), value_bool(alias->is_bare));
    }
    sheet_end(sheet);
}

static void put_markdown_row(FILE *out, enum setting_id id)
{
    const struct setting *setting = &setting_table[id];
    char takes[512];
    setting_describe_values(setting, takes, sizeof takes);
    fprintf(out, "| `%s` | ", setting_key(setting));
    if (*setting->standard)
        fprintf(out, "`%s`", setting->standard);
    fprintf(out, " | %s; takes %s | ", setting->help, takes);
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
