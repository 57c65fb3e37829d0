// SPDX-License-Identifier: Apache-2.0
// An option of a command as data: parsing, `--help`, the man page and what shells
// complete come from its line in a table (src/cli/frame).
#ifndef GAIT_BASE_OPTION_H
#define GAIT_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    // bool
    OPTION_TEXT,    // const char *, not empty
    OPTION_MAYBE,   // the same, or "": a value stands behind = alone
    OPTION_OPERAND, // an operand by another tool's word: beside the others, in order
    OPTION_TEXTS,   // struct option_texts: may be given several times
    OPTION_NUMBER,  // int64_t between low and high
    OPTION_SIZE,    // the same in bytes: 65536, 64K, 16M, 1G
    OPTION_SECONDS, // double, low and high in ms: 10, 0.5, 500ms, 2m, 1.5h
    OPTION_CHOICE,  // const char *, one of `choices`
};

enum { OPTION_MOST_TEXTS = 64 }; // as many as there may be tags

struct option_texts {
    const char *texts[OPTION_MOST_TEXTS];
    size_t count;
};

struct option {
    char letter;   // 0: has no short form
    bool is_other; // another tool's word, or an expert's: the man page alone has it
    enum option_kind kind;
    const char *name;
    const char *value; // what the help calls its value; NULL for a flag
    const char *help;  // one sentence, no full stop
    size_t offset;     // where in the command's struct the value goes
    int64_t low, high;
    const char *const *choices; // NULL-terminated
};

// Rows of a table of options, by kind: the letter (0: none), the name, what the help calls its
// value, what the value may be, the offset, the help. They stand in braces, as some say more:
// {FLAG_ROW('q', "quiet", offsetof(struct run_values, is_quiet), "print errors only")}.
#define OPTION_ROW(kind_, letter_, name_, value_, offset_, help_)                                  \
    .letter = (letter_), .kind = (kind_), .name = (name_), .value = (value_), .help = (help_),     \
    .offset = (offset_)
#define FLAG_ROW(letter_, name_, offset_, help_)                                                   \
    OPTION_ROW(OPTION_FLAG, letter_, name_, NULL, offset_, help_)
#define TEXT_ROW(letter_, name_, value_, offset_, help_)                                           \
    OPTION_ROW(OPTION_TEXT, letter_, name_, value_, offset_, help_)
#define CHOICE_ROW(letter_, name_, value_, choices_, offset_, help_)                               \
    OPTION_ROW(OPTION_CHOICE, letter_, name_, value_, offset_, help_), .choices = (choices_)
#define RANGE_ROW(kind_, letter_, name_, value_, low_, high_, offset_, help_)                      \
    OPTION_ROW(kind_, letter_, name_, value_, offset_, help_), .low = (low_), .high = (high_)
#define NUMBER_ROW(letter_, name_, value_, low_, high_, offset_, help_)                            \
    RANGE_ROW(OPTION_NUMBER, letter_, name_, value_, low_, high_, offset_, help_)
#define SECONDS_ROW(letter_, name_, value_, low_, high_, offset_, help_)                           \
    RANGE_ROW(OPTION_SECONDS, letter_, name_, value_, low_, high_, offset_, help_)

// Whether the next word is its value, where none stands behind =.
static inline bool option_takes_next(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_MAYBE;
}

// A line that can be typed, for the help and the man page.
struct example {
    const char *line, *what;
};

enum { ABOUT_MOST = 12, EXAMPLES_MOST = 8 }; // paragraphs and lines that a command may have

#define OPTIONS_ARE(list) .options = (list), .count = sizeof(list) / sizeof(list)[0]

#endif
