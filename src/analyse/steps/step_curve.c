// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/step_curve.h"

void step_curve_make(struct step_curve *curve, const struct step_row *rows, size_t count)
{
    const size_t stretch = count / STEP_CURVE_POINTS + (count % STEP_CURVE_POINTS != 0);
    curve->count = 0;
    for (size_t from = 0; from < count; from += stretch) {
        size_t longest = from;
        for (size_t i = from; i < count && i - from < stretch; i++)
            if (rows[i].duration_ns > rows[longest].duration_ns)
                longest = i;
        curve->points[curve->count].place = longest;
        curve->points[curve->count++].longest_ns = rows[longest].duration_ns;
    }
}
