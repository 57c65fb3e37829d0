// SPDX-License-Identifier: Apache-2.0
// What part of a run an answer is about, as people write it: --steps=5..9, --from 2s,
// --ranks 0,8..15. What is not given leaves all.
#ifndef GAIT_LOAD_CHOICE_H
#define GAIT_LOAD_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

// Which of these a command heeds; those it does not it has no option for.
enum {
    CHOICE_STEPS = 1,
    CHOICE_SHOW_STEPS = 2, // the same, where the bare word shows steps
    CHOICE_TIME = 4,
    CHOICE_RANKS = 8,
    CHOICE_RANK = 16, // --rank is a word for --ranks
    CHOICE_PHASE = 32,
    CHOICE_WHOLE = 64, // a time chooses the steps that begin in it, as a whole
};

// For the man pages: what a choice of times means where rows are counted.
#define CHOICE_COUNTS                                                                              \
    "--steps takes the numbers that gait steps prints. A row counts where it begins in the "       \
    "chosen "                                                                                      \
    "steps, time or phase; work of a device, where the call that launched it does. So the parts "  \
    "of a run sum to the whole. --phase is any span of that name on the host."

struct choice_texts { // NULL: not given
    const char *steps, *from, *to, *ranks, *phase;
};

struct choice_range {
    uint64_t first, last; // both are chosen
};

struct choice_time {
    bool is_given, is_absolute; // absolute: since 1970, else from the run's start
    int64_t ns;
};

enum { CHOICE_MOST_RANGES = 64 };

struct choice {
    struct choice_texts texts;
    bool has_steps, is_whole; // whole: of steps that begin in the times
    bool shows_steps;         // : a bare --steps, or one behind which a value stands
    struct choice_range steps;
    struct choice_time from, to; // [from, to)
    struct choice_range ranks[CHOICE_MOST_RANGES];
    size_t rank_count; // of these ranges; 0: all
};

// Fails with a sentence on what is no choice, or one of nothing.
GAIT_CHECK int choice_read(struct choice *choice, const struct choice_texts *texts);

bool choice_has_rank(const struct choice *choice, int64_t rank);

// Whether anything is left out at all, and whether times are.
bool choice_is_made(const struct choice *choice);
bool choice_is_of_times(const struct choice *choice);

#endif
