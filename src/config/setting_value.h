// SPDX-License-Identifier: Apache-2.0
// A value as somebody wrote it, judged and brought into one form: true and false,
// plain digits, the choices as the table spells them.
#ifndef GAIT_CONFIG_SETTING_VALUE_H
#define GAIT_CONFIG_SETTING_VALUE_H

#include <gait/error.h>

#include "config/setting_table.h"

enum { SETTING_VALUE_BYTES = 4096 }; // a path

// Fails with what the setting takes: "'wait' takes a number of units, 0 or
// more, not 'one'"; `spelled` is the name to use for it.
GAIT_CHECK int setting_value_read(const struct setting *setting, const char *spelled,
                                  const char *text, char out[SETTING_VALUE_BYTES]);

// Is this a word for true or false? True, yes, on and 1, in any case.
bool setting_value_bool(const char *text, bool *ret_value);

// What somebody wrote, fit to be shown in a sentence: cut, and without control
// characters. Valid until the call after the next.
const char *setting_value_show(const char *text);

#endif
