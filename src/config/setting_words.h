// SPDX-License-Identifier: Apache-2.0
// Settings on a command line: `--profiling.wait 1`, `--profiling.wait=1`,
// `profiling.wait=1`, and the same of names that need no section, `profiler=x`.
// They are only told apart and collected here; config.h judges them.
#ifndef GAIT_CONFIG_SETTING_WORDS_H
#define GAIT_CONFIG_SETTING_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <gait/error.h>

enum { SETTING_WORDS_MAX = 64, SETTING_WORD_BYTES = 64 };

struct setting_words {
    struct {
        char name[SETTING_WORD_BYTES];
        const char *value; // points into the line
    } words[SETTING_WORDS_MAX];
    size_t count;
};

// Takes the setting that `arguments[*next]` is, with its value, and moves
// *next behind it: 1. 0: it is none of ours. Fails with a sentence.
// On a line of gait's own (`is_own`), any `a.b=c` and `--a.b` must be a setting;
// on another program's line only what has our section or a name of ours.
struct setting_line {
    char *const *arguments;
    int count, next;
    bool is_own;
};
int setting_words_take(struct setting_words *words, struct setting_line *line);

// Adds one that was found in another way: an option of its own.
GAIT_CHECK int setting_words_add(struct setting_words *words, const char *name, const char *value);

#endif
