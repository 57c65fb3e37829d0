// SPDX-License-Identifier: Apache-2.0
// How long the steps took, one after the other, in few points: a point is the longest
// step of a stretch of steps, so that no slow one is smoothed away.
//
// Pure: rows in, points out.
#ifndef GAIT_ANALYSE_STEP_CURVE_H
#define GAIT_ANALYSE_STEP_CURVE_H

#include "analyse/steps/steps.h"

enum { STEP_CURVE_POINTS = 512 };

struct step_curve {
    struct {
        uint64_t place; // of that step in the run, from 0
        int64_t longest_ns;
    } points[STEP_CURVE_POINTS];
    size_t count;
};

// Of rows in the order in which the steps were made.
void step_curve_make(struct step_curve *curve, const struct step_row *rows, size_t count);

#endif
