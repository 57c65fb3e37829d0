// SPDX-License-Identifier: Apache-2.0
// The answer of `gait compare`: what differs between two sets of runs.
#ifndef GAIT_ANSWER_COMPARE_ANSWER_H
#define GAIT_ANSWER_COMPARE_ANSWER_H

#include "analyse/compare/comparison.h"
#include "answer/sheet.h"

struct compared {
    const struct comparison *comparison;
    const struct run_set *a, *b;
    const struct limit *limits;
    size_t limit_count;
};

void compare_answer_put(struct sheet *sheet, const struct compared *compared);

// Whether a limit is broken or open, or there are too few runs to say anything.
bool compare_answer_fails(const struct compared *compared);

#endif
