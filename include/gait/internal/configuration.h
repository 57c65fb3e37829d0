// SPDX-License-Identifier: Apache-2.0
// Settings of a run, found as the tool finds them: command line > GAIT_* variables
// > YAML file > defaults, in all spellings that docs/CONFIG.md lists. In
// libgait-read.so. What they are is told as JSON, in which `gait config explain
// --json` answers too.
#ifndef GAIT_CONFIGURATION_H
#define GAIT_CONFIGURATION_H

#include <stddef.h>

#include "../error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gait_config_request {
    size_t size;                  // sizeof(struct gait_config_request)
    const char *file;             // "FILE" or "FILE#SECTION"; NULL: GAIT_CONFIG, gait.yaml
    const char *const *arguments; // a program's own: what is not ours is left in "rest"
    size_t argument_count;
    const char *arguments_from; // what they are called; NULL: "command line"
    int has_no_file;            // 1: without GAIT_CONFIG and gait.yaml
    int has_no_variables;       // 1: without GAIT_* variables
    int is_strict;              // 1: each argument must be a setting
    int is_section;             // 1: they are a section, which is on if it is there
};

struct gait_config;

// Finds and checks. A failure's sentence (gait_trace_error()) names file and line,
// variable or argument, and what would be right.
GAIT_API GAIT_CHECK int gait_config_open(const struct gait_config_request *request,
                                         struct gait_config **ret_config);
GAIT_API void gait_config_close(struct gait_config *config); // takes NULL

// {"file": …, "notices": […], "settings": {name: {"value": …, "from": …}}, "rest": [indices]};
// lives until the config is closed.
GAIT_API const char *gait_config_json(const struct gait_config *config);

#ifdef __cplusplus
}
#endif
#endif
