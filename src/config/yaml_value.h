// SPDX-License-Identifier: Apache-2.0
// Where a walk through a YAML file is, and what its values mean. The events of libyaml
// and the sections they lead to are the business of yaml_settings.c.
#ifndef GAIT_CONFIG_YAML_VALUE_H
#define GAIT_CONFIG_YAML_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "config/config_file.h"
#include "config/setting_value.h"

enum { YAML_KEY_BYTES = 64, YAML_PATH_BYTES = 1024, YAML_MAX_ANCHORS = 64, YAML_MAX_PENDING = 32 };

#define YAML_AT "%s:%zu: " // path and line, in front of a sentence

// Whose a mapping is.
enum yaml_owner {
    OWNER_OTHER, // somebody else's
    OWNER_OURS,  // a section of ours
    OWNER_LIST,  // a sequence that is the value of one of our settings
};

struct yaml_level {
    enum yaml_owner owner;
    bool is_mapping, has_key; // the key is read, its value comes next
    bool has_target;          // a `_target_`: the arguments of somebody's class
    bool is_trainer;          // of itwinai's
    char key[YAML_KEY_BYTES];
    size_t line;                // of the key, from 1
    size_t path_length;         // of `path`, where this mapping begins
    size_t pending;             // first one of this mapping
    const char *section;        // of ours: "profiling" or "recording"
    struct setting_match match; // of a list
};

// A trainer's argument that is ours if its class turns out to be one that has it.
struct yaml_pending {
    struct setting_match match;
    const char *value, *where, *spelled;
};

struct yaml_walk {
    struct config *config;
    const struct yaml_source *source;
    struct yaml_level levels[CONFIG_FILE_MAX_DEPTH];
    size_t depth;
    char path[YAML_PATH_BYTES]; // keys that lead to the innermost mapping, with dots between
    struct {
        const char *name, *value; // NULL value: no scalar
    } anchors[YAML_MAX_ANCHORS];
    size_t anchor_count;
    struct yaml_pending pending[YAML_MAX_PENDING];
    size_t pending_count;
    size_t said[SETTING_COUNT]; // the line that said it, 0: none
    const char *said_as[SETTING_COUNT];
    size_t section_line[2]; // of profiling, of recording
    const char *near_key;   // a top-level key that may be meant to be our section
    size_t near_line;
    const char *epochs, *epochs_at; // of the file's trainer; NULL: it has none
    bool has_more_epochs;           // others: nobody knows which count
    char list[SETTING_VALUE_BYTES];
    size_t document_count;
};

// "config.yaml:3", or NULL without memory.
const char *yaml_value_place(struct yaml_walk *walk, size_t line);

// What cannot be said there: fails with the nearest key.
GAIT_CHECK int yaml_value_refuse_key(const struct yaml_walk *walk, const struct yaml_level *level);

// The setting of the key that is read: it may be said once.
GAIT_CHECK int yaml_value_say(struct yaml_walk *walk, const struct yaml_level *level,
                              struct setting_match match, const char *value);

bool yaml_value_is_null(const yaml_event_t *event);

// Can that text be a value of ours?
GAIT_CHECK int yaml_value_check(const struct yaml_walk *walk, const struct yaml_level *level,
                                const yaml_event_t *event);

// A value below a key of ours: an alias that was resolved, a scalar, or one in the place
// of the whole section.
GAIT_CHECK int yaml_value_take(struct yaml_walk *walk, struct yaml_level *level, const char *value);
GAIT_CHECK int yaml_value_take_scalar(struct yaml_walk *walk, struct yaml_level *level,
                                      const yaml_event_t *event);
GAIT_CHECK int yaml_value_take_section(struct yaml_walk *walk, const struct yaml_level *parent,
                                       const yaml_event_t *event);

// The arguments of somebody's class: noted one by one, and settled at the end of its
// mapping, when it is known whether it is a trainer that has them.
GAIT_CHECK int yaml_value_note_argument(struct yaml_walk *walk, struct yaml_level *level,
                                        const yaml_event_t *event);
GAIT_CHECK int yaml_value_settle(struct yaml_walk *walk, const struct yaml_level *level);

#endif
