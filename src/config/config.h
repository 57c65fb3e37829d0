// SPDX-License-Identifier: Apache-2.0
// The settings of one run: for each its value, where it came from, and what it
// overrides. Command line > GAIT_* variables > file > defaults.
//
//     struct config config;
//     config_init(&config);
//     if (config_resolve(&config, &request)) …fail_text()…
//     if (config_flag(&config, SETTING_ENABLED))
//         … config_number(&config, SETTING_WAIT) …
//     config_finish(&config);
#ifndef GAIT_CONFIG_CONFIG_H
#define GAIT_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/arena.h"
#include "config/setting_alias.h"
#include "config/setting_table.h"
#include "config/setting_words.h"

enum config_level { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_VARIABLE, CONFIG_LINE };

// One place that says what a setting is.
struct config_entry {
    enum setting_id id;
    enum config_level level;
    bool is_implied;     // follows from another setting of that level; gives way to what is said
    const char *unit;    // what its spelling says it counts, or NULL: wait_steps
    const char *text;    // in canonical form
    const char *where;   // "gait.yaml:3", "GAIT_PROFILING_WAIT", "command line", "default"
    const char *spelled; // the name it has there
};

enum { CONFIG_MAX_ENTRIES = 512, CONFIG_MAX_NOTICES = 64 };

struct config {
    struct arena arena; // holds all texts
    struct config_entry entries[CONFIG_MAX_ENTRIES];
    size_t count;
    const char *notices[CONFIG_MAX_NOTICES]; // what the user should know, a sentence each
    size_t notice_count;
    const char *file; // the one that was read, or NULL
    bool has_section; // there was something of ours in it
    bool is_own_file; // it is a gait.yaml
};

struct config_request {
    size_t size;
    const char *file; // "FILE" or "FILE#SECTION"; NULL: GAIT_CONFIG, else gait.yaml here
    const struct setting_words *words;  // may be NULL
    const char *words_from;             // what the words come from; NULL: "command line"
    bool has_no_file, has_no_variables; // those are not looked at
    bool is_section;                    // the words are a 'profiling' section, which is there
};

void config_init(struct config *config);
void config_finish(struct config *config); // takes NULL

// Collects and checks. Fails with a sentence that names file and line, variable
// or option.
GAIT_CHECK int config_resolve(struct config *config, const struct config_request *request);

// The entry that counts.
const struct config_entry *config_entry_of(const struct config *config, enum setting_id id);
int64_t config_number(const struct config *config, enum setting_id id); // sizes in bytes
bool config_flag(const struct config *config, enum setting_id id);
const char *config_text(const struct config *config, enum setting_id id);
bool config_is_default(const struct config *config, enum setting_id id);

// For those who collect: adds an entry, after judging its value. `alias` may be NULL.
struct config_saying {
    struct setting_match match;
    enum config_level level;
    const char *value, *where, *spelled;
};
GAIT_CHECK int config_say(struct config *config, const struct config_saying *saying);
void config_notice(struct config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Texts that live as long as the config; NULL when there is no memory.
const char *config_print(struct config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
