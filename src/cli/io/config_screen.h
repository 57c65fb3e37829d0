// SPDX-License-Identifier: Apache-2.0
// Settings on a terminal, and the table of all of them as text and Markdown.
#ifndef GAIT_CLI_CONFIG_SCREEN_H
#define GAIT_CLI_CONFIG_SCREEN_H

#include <stdio.h>

#include "config/config.h"

// Each setting with its value, where that came from and what it overrides.
// `only_said`: without those that are as they are by default.
void config_screen_put(FILE *out, const struct config *config, bool only_said);

// What should be known, a line each: "gait run: …".
void config_screen_notices(FILE *out, const struct config *config);

void config_screen_table(FILE *out);
void config_screen_markdown(FILE *out);

#endif
