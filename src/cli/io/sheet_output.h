// SPDX-License-Identifier: Apache-2.0
// Where an answer goes and how it looks: the flags that every command with an answer has.
#ifndef GAIT_CLI_SHEET_OUTPUT_H
#define GAIT_CLI_SHEET_OUTPUT_H

#include <stdbool.h>

#include "cli/frame/command.h"

struct sheet;

struct sheet_wish {
    bool is_json;
    const char *format, *output, *table; // NULL: not given
};

// The options of a command whose values have a `struct sheet_wish` as `member`.
#define SHEET_OPTIONS(values, member)                                                              \
    {.letter = 'j',                                                                                \
     .name = "json",                                                                               \
     .kind = OPTION_FLAG,                                                                          \
     .help = "answer in JSON, times in integer nanoseconds",                                       \
     .offset = offsetof(values, member.is_json)},                                                  \
        {.name = "format",                                                                         \
         .kind = OPTION_CHOICE,                                                                    \
         .value = "FORMAT",                                                                        \
         .help = "how the answer looks; else as the ending of the output says",                    \
         .offset = offsetof(values, member.format),                                                \
         .choices = sheet_format_names},                                                           \
        {.letter = 'o',                                                                            \
         .name = "output",                                                                         \
         .kind = OPTION_TEXT,                                                                      \
         .value = "FILE",                                                                          \
         .help = "write the answer there; - is standard output",                                   \
         .offset = offsetof(values, member.output)},                                               \
    {                                                                                              \
        .name = "table", .kind = OPTION_TEXT, .value = "KEY",                                      \
        .help =                                                                                    \
            "with csv: that table alone (values ...); a wrong KEY is answered with all of them",   \
        .offset = offsetof(values, member.table)                                                   \
    }

extern const char *const sheet_format_names[];

// Refuses, before any work, what does not go together, or would write over `input`.
GAIT_CHECK int sheet_wish_check(const struct sheet_wish *wish, const char *input);

// Whether any of the flags was given.
static inline bool sheet_wish_is_made(const struct sheet_wish *wish)
{
    return wish->is_json || wish->format || wish->output || wish->table;
}

// Prints the sheet where the wish says. Of a file nothing is left on failure.
GAIT_CHECK int sheet_output(const struct sheet_wish *wish, const struct sheet *sheet);

#endif
