// SPDX-License-Identifier: Apache-2.0
// An answer to a run as data: what its command says of itself, and how its sheet is
// filled. answers.def lists them.
#ifndef GAIT_ANSWER_ANSWERS_H
#define GAIT_ANSWER_ANSWERS_H

#include <gait/trace.h>

#include "answer/sheet.h"
#include "base/option.h"

struct choice;
struct chosen;

// What an answer is about.
struct asked {
    struct gait_trace *trace;
    const char *path;            // the run as the user typed it
    const void *values;          // the struct that the options fill; zero where nothing was given
    const struct choice *choice; // NULL: all, as nothing was asked
    const struct chosen *chosen; // what of the ranks' times that leaves; NULL: all
};

struct answer {
    const char *summary;                    // what `--help` says above the options
    const char *about[ABOUT_MOST];          // paragraphs for the man page; the rest is NULL
    struct example examples[EXAMPLES_MOST]; // the rest is zeroed; the help shows the first
    const struct option *options;           // of its own, into `values`
    size_t count;
    unsigned choice; // CHOICE_...: which parts of a run it can be about
    bool is_rare;    // `gait help` names the command, but does not explain it
    // Fills the sheet. Fails only with what the sheet does not know of itself
    // (sheet_status()): a trace that cannot be read, an option that makes no sense.
    int (*put)(struct sheet *sheet, const struct asked *asked);
};

#define ANSWER(name, purpose) extern const struct answer name##_answer;
#include "answer/answers.def"

#endif
