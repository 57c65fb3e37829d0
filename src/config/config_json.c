// SPDX-License-Identifier: Apache-2.0
#include "config/config_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"

static const char *level_text(enum config_level level)
{
    static const char *const texts[] = {"default", "file", "environment", "command line"};
    return texts[level];
}

static void put_list(struct json_writer *json, const char *text)
{
    json_array(json);
    while (*text) {
        size_t length = strcspn(text, ",");
        json_slice(json, (struct slice){(const uint8_t *)text, length});
        text += length;
        text += *text == ',';
    }
    json_close(json);
}

void config_json_value(struct json_writer *json, const struct setting *setting, const char *text)
{
    uint64_t bytes = 0;
    if (setting->kind == SETTING_BOOL)
        json_bool(json, !strcmp(text, "true"));
    else if (setting->kind == SETTING_NUMBER)
        json_int(json, strtoll(text, NULL, 10));
    else if (setting->kind == SETTING_SIZE && size_text_read(text, &bytes))
        json_uint(json, bytes);
    else if (setting->kind == SETTING_LIST)
        put_list(json, text);
    else
        json_text(json, *text ? text : NULL);
}

static void put_entry(struct json_writer *json, const struct config_entry *entry)
{
    const struct setting *setting = &setting_table[entry->id];
    json_key(json, "value");
    config_json_value(json, setting, entry->text);
    json_put_text(json, "level", level_text(entry->level));
    json_put_text(json, "from", entry->where);
    json_put_text(json, "as", entry->spelled);
    json_put_bool(json, "implied", entry->is_implied);
}

void config_json_setting(struct json_writer *json, const struct config *config,
                         const struct config_entry *winner)
{
    json_object(json);
    put_entry(json, winner);
    json_key(json, "overrides");
    json_array(json);
    for (size_t i = config->count; i-- > 0;) {
        const struct config_entry *entry = &config->entries[i];
        if (entry == winner || entry->id != winner->id)
            continue;
        json_object(json);
        put_entry(json, entry);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

void config_json(struct json_writer *json, const struct config *config)
{
    json_put_text(json, "file", config->file);
    json_put_bool(json, "has_section", config->has_section);
    json_key(json, "notices");
    json_array(json);
    for (size_t i = 0; i < config->notice_count; i++)
        json_text(json, config->notices[i]);
    json_close(json);
    json_key(json, "settings");
    json_object(json);
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct config_entry *winner = config_entry_of(config, (enum setting_id)i);
        if (!winner)
            continue;
        json_key(json, setting_table[i].name);
        config_json_setting(json, config, winner);
    }
    json_close(json);
}
