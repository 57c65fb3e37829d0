// SPDX-License-Identifier: Apache-2.0
// The command line as data. A command's table of options is all there is: what
// is parsed, what `--help` shows and what the man page says come from it
// (parsing here, the two texts in help.h).
//
// Legal: -o DIR, -oDIR, --output DIR, --output=DIR, -qv, and `--`, after which
// nothing is an option any more.
#ifndef GAIT_CLI_OPTIONS_H
#define GAIT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "config/setting_words.h"

enum option_kind {
    OPTION_FLAG,    // bool
    OPTION_TEXT,    // const char *, not empty
    OPTION_NUMBER,  // int64_t between low and high
    OPTION_SIZE,    // the same in bytes: 65536, 64K, 16M, 1G
    OPTION_SECONDS, // double, low and high in ms: 10, 0.5, 500ms, 2m, 1.5h
    OPTION_CHOICE,  // const char *, one of `choices`
};

struct option {
    char letter; // 0: has no short form
    enum option_kind kind;
    const char *name;
    const char *value; // what the help calls its value; NULL for a flag
    const char *help;  // one sentence, no full stop
    size_t offset;     // where in the command's struct the value goes
    int64_t low, high;
    const char *const *choices; // NULL-terminated
};

// What a command reads from its line.
struct option_table {
    const char *command; // for messages: "run"; "" for gait itself
    const struct option *options;
    size_t count;
    unsigned min_operands, max_operands;
    const char *operands;       // how the help writes them: "PATH"
    bool stops_at_operand;      // the first operand ends the options: gait run CMD -x
    bool has_settings;          // takes --profiling.wait 1 and profiling.wait=1 too
    const char *const *choices; // what the first operand may be; NULL: anything
};

#define OPTIONS_ARE(list) .options = (list), .count = sizeof(list) / sizeof(list)[0]

struct operands {
    char **texts;
    int count;
    struct setting_words settings; // for config_resolve()
};

// The option of that name, which need not end in a 0, and of that letter; or NULL.
const struct option *options_find(const struct option_table *table, const char *name,
                                  size_t length);
const struct option *options_find_letter(const struct option_table *table, char letter);

// Reads argv[0..argc), moving operands to the front of it, and stores option
// values in the struct at `values`. Returns OPTIONS_HELP at -h and --help, and
// fails with a sentence for the user.
enum { OPTIONS_HELP = 1 };
GAIT_CHECK int options_parse(const struct option_table *table, int argc, char **argv, void *values,
                             struct operands *ret_operands);

#endif
