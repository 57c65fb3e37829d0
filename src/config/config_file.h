// SPDX-License-Identifier: Apache-2.0
// Settings from a YAML file: all of gait.yaml, or the `profiling` section of a
// file that belongs to the user's own program, whose other sections are theirs.
// Bytes of the file are hostile: whatever they are, the outcome is settings or
// one sentence with the file's name and line.
#ifndef GAIT_CONFIG_CONFIG_FILE_H
#define GAIT_CONFIG_CONFIG_FILE_H

#include "base/slice.h"
#include "config/config.h"

enum { CONFIG_FILE_MAX_BYTES = 1 << 20, CONFIG_FILE_MAX_DEPTH = 100 };

// `named` is a path, or path#section: where the settings lie in it, as
// "trainer.profiling"; the default is "profiling".
GAIT_CHECK int config_file_read(struct config *config, const char *named);

struct yaml_source {
    const char *path, *section;
    struct slice bytes;
    bool is_gait_yaml;
};

// The part that needs libyaml; without it, one sentence that says so.
GAIT_CHECK int yaml_settings_read(struct config *config, const struct yaml_source *source);

// Could a file be read?
bool yaml_settings_there(void);

#endif
