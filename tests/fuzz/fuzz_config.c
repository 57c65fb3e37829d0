// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as gait.yaml and as somebody else's file. The outcome is legal
// settings or one sentence; settings that were taken are legal when read again.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "config/config_check.h"
#include "config/config_file.h"
#include "config/setting_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct config_entry *entry)
{
    char again[SETTING_VALUE_BYTES];
    const struct setting *setting = &setting_table[entry->id];
    if (!entry->where[0] || !entry->spelled[0])
        __builtin_trap();
    if (setting_value_read(setting, entry->spelled, entry->text, again) ||
        strcmp(again, entry->text) != 0)
        __builtin_trap();
}

static void read_as(const uint8_t *bytes, size_t size, bool is_gait_yaml)
{
    static struct config config;
    struct yaml_source source = {.path = is_gait_yaml ? "gait.yaml" : "x.yaml",
                                 .section = "profiling",
                                 .bytes = {bytes, size},
                                 .is_gait_yaml = is_gait_yaml};
    config_init(&config);
    fail_clear();
    int status = yaml_settings_read(&config, &source);
    if (status && (!fail_text()[0] || strchr(fail_text(), '\n')))
        __builtin_trap();
    for (size_t i = 0; !status && i < config.count; i++)
        check_entry(&config.entries[i]);
    config_finish(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    read_as(bytes, size, true);
    read_as(bytes, size, false);
    free(bytes);
    return 0;
}
