// SPDX-License-Identifier: Apache-2.0
// How an answer looks and where it goes: the options that all commands with an answer
// share.
#ifndef GAIT_CLI_SHEET_WISH_H
#define GAIT_CLI_SHEET_WISH_H

#include <stdbool.h>

#include "base/option.h"

struct sheet_wish {
    bool is_json;
    const char *format, *output, *table; // NULL: not given
    bool is_all;                         // of text; of the commands that have such an option
};

enum { SHEET_OPTIONS = 4 };
extern const struct option sheet_options[SHEET_OPTIONS]; // into a struct sheet_wish
extern const char *const sheet_format_names[];           // ends with NULL

// Whether any of the options was given.
static inline bool sheet_wish_is_made(const struct sheet_wish *wish)
{
    return wish->is_json || wish->format || wish->output || wish->table;
}

#endif
