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

#include <gait/error.h>

#include "base/option.h"
#include "cli/frame/choice_wish.h"
#include "cli/frame/sheet_wish.h"
#include "config/setting_words.h"

// What a command reads from its line.
struct option_table {
    const char *command; // its name: "run"; "" for gait itself
    const struct option *options;
    size_t count;
    unsigned min_operands, max_operands;
    const char *operands;       // how the help writes them: "PATH"
    bool stops_at_operand;      // the first operand ends the options: gait run CMD -x
    bool has_sides;             // `--` parts the operands, and options may stand behind it
    bool has_settings;          // takes --profiling.wait 1 and profiling.wait=1 too
    const char *const *choices; // what the first operand may be; NULL: anything
    bool has_trace;             // takes --no-cache, too
    bool has_sheet;             // takes --json, --format, --output and --table, too
    unsigned choice;            // CHOICE_...: which of choice_options it takes
};

struct operands {
    char **texts;
    int count;
    int divided_at;                // so many stand in front of the first `--`; -1: there is none
    struct setting_words settings; // for config_resolve()
    bool is_uncached;              // --no-cache was given
    struct sheet_wish wish;        // for sheet_output()
    struct choice_texts choice;    // for choice_read()
};

// The options of a table, one after the other; NULL behind the last one.
const struct option *options_at(const struct option_table *table, size_t index);

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
