// SPDX-License-Identifier: Apache-2.0
// Settings on a terminal, and the table of all of them as text and Markdown.
#ifndef GAIT_CLI_CONFIG_SCREEN_H
#define GAIT_CLI_CONFIG_SCREEN_H

#include <stdio.h>

#include "config/config.h"

struct sheet;

// Each setting with its value, where that came from and what it overrides, and what the
// user should know. `is_check`: people see those alone that a file sets, and that it is legal.
void config_screen_put(struct sheet *sheet, const struct config *config, bool is_check);

// All settings that there are.
void config_screen_put_table(struct sheet *sheet);
void config_screen_markdown(FILE *out); // docs/CONFIG.md

#endif
