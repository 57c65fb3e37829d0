// SPDX-License-Identifier: Apache-2.0
// Settings as JSON, for scripts and for the Python package.
#ifndef GAIT_CONFIG_CONFIG_JSON_H
#define GAIT_CONFIG_CONFIG_JSON_H

#include "base/json_writer.h"
#include "config/config.h"

// Members of an open object: file, notices, and settings: of each its value,
// level, from, as, and what it overrides.
void config_json(struct json_writer *json, const struct config *config);

// One of these settings, as an object, and a value in its canonical form.
void config_json_setting(struct json_writer *json, const struct config *config,
                         const struct config_entry *winner);
void config_json_value(struct json_writer *json, const struct setting *setting, const char *text);

#endif
