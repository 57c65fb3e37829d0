// SPDX-License-Identifier: Apache-2.0
// Compares an event with a pattern: the literal stretches in vectors, the numbers between
// them eight digits at a time. One way for each kind of processor; all say the same.
#ifndef GAIT_INGEST_PATTERN_PATTERN_FIT_H
#define GAIT_INGEST_PATTERN_PATTERN_FIT_H

#include "ingest/pattern/chrome_pattern.h"

enum {
    FIT_MOST_HOLE = 26, // bytes of one number that are looked at
    FIT_BEHIND = 64,    // readable bytes behind the event, and behind the text of a pattern
};

struct pattern_fitter {
    const char *name;
    pattern_fit *fit;
    bool (*is_here)(void); // whether this processor can run it
};

// From the widest to the portable one, which is always here.
enum { PATTERN_FITTERS = 3 };
extern const struct pattern_fitter pattern_fitters[PATTERN_FITTERS];

const struct pattern_fitter *pattern_fit_best(void);

#endif
