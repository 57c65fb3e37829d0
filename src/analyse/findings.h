// SPDX-License-Identifier: Apache-2.0
// What stands out in a PyTorch run and what to do about it, each with the
// figures it rests on. Where the figures do not suffice, nothing is said.
//
// Pure: a report in, sentences out.
#ifndef GAIT_ANALYSE_FINDINGS_H
#define GAIT_ANALYSE_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

struct run_report;

enum { FINDINGS_MOST = 16, FINDINGS_MOST_FIGURES = 4 };

struct finding_figure {
    const char *key;
    uint64_t value;
};

struct finding {
    const char *id; // kept: scripts look for it
    char text[320]; // a sentence without full stop
    struct finding_figure figures[FINDINGS_MOST_FIGURES];
    size_t figure_count;
};

struct findings {
    struct finding rows[FINDINGS_MOST];
    size_t count;
};

void findings_make(struct findings *findings, const struct run_report *report);

#endif
