// SPDX-License-Identifier: Apache-2.0
// The answer of `gait scale`: tables, plots and what they come to.
#ifndef GAIT_ANSWER_SCALE_ANSWER_H
#define GAIT_ANSWER_SCALE_ANSWER_H

#include "analyse/scale/scaling.h"
#include "answer/sheet.h"

struct scale_asked {
    const struct scale_set *set;
    const struct scaling *scaling;
    bool has_communication; // itwinai's other fraction, too
};

void scale_answer_put(struct sheet *sheet, const struct scale_asked *asked);

// The plots of which there are figures; an answer has them already.
void scale_plots_put(struct sheet *sheet, const struct scale_asked *asked);

// The names of all plots, which are their keys; ends with NULL.
extern const char *const scale_plot_names[];

#endif
