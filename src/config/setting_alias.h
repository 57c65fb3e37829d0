// SPDX-License-Identifier: Apache-2.0
// What other tools call our settings. A file that was written for one of them is
// read as it stands.
#ifndef GAIT_CONFIG_SETTING_ALIAS_H
#define GAIT_CONFIG_SETTING_ALIAS_H

#include "config/setting_table.h"

struct setting_alias {
    const char *name; // as the others spell it, in a 'profiling' section
    enum setting_id means;
    bool is_bare;     // also by itself on the command line, and among a trainer's arguments
    const char *unit; // the unit that the name tells: "step", "epoch" or NULL
};

extern const struct setting_alias setting_aliases[];
extern const unsigned setting_alias_count;

// A setting found by the name somebody gave it.
struct setting_match {
    enum setting_id id;
    const struct setting_alias *alias; // NULL: its own name
};

// `key` as it stands in the section ("profiling" or "recording"); hyphens are
// underscores. False where there is none.
bool setting_find_key(const char *section, const char *key, struct setting_match *ret_match);

// A name that stands alone: "profiling.wait", "profiler", "enable_torch_profiling".
bool setting_find_name(const char *name, struct setting_match *ret_match);

// Among the arguments of another trainer: only what bears its meaning in its name.
bool setting_find_bare(const char *key, struct setting_match *ret_match);

// The nearest legal spelling of a key of that section, or NULL; and of a name.
const char *setting_nearest_key(const char *section, const char *key);
const char *setting_nearest_name(const char *name);

#endif
