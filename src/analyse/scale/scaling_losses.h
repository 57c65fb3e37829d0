// SPDX-License-Identifier: Apache-2.0
// Where efficiency is lost: what each part of the time costs more than at the base.
#ifndef GAIT_ANALYSE_SCALING_LOSSES_H
#define GAIT_ANALYSE_SCALING_LOSSES_H

#include "analyse/scale/scaling.h"

// Runs of one point.
struct scale_members {
    const struct scale_run **runs;
    size_t count;
};

// The point's parts, where all of its runs with a time have them.
GAIT_CHECK int scaling_parts_find(struct scaling *scaling, struct scale_point *point,
                                  const struct scale_members *members);

// Its losses against the base, where both have parts.
GAIT_CHECK int scaling_losses_find(struct scaling *scaling, struct scale_point *point,
                                   const struct scale_point *base);

#endif
