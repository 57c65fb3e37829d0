// SPDX-License-Identifier: Apache-2.0
// What stands out in a PyTorch run and what to do about it, each with the
// figures it rests on. Where the figures do not suffice, nothing is said.
//
// Pure: a report in; out come numbers of findings, their evidence, and the notes
// that some go on with (sentences.def).
#ifndef GAIT_ANALYSE_FINDINGS_H
#define GAIT_ANALYSE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/verdict/evidence.h"
#include "analyse/verdict/sentences.h"

struct run_report;
struct verdict_part;

enum { FINDING_MOST_NOTES = 4 };

struct finding {
    enum finding_number number;
    enum note more[FINDING_MOST_NOTES]; // clauses behind its sentence
    size_t more_count;
    bool is_told; // the verdict, or a line beside it, says as much
    struct evidence evidence;
};

struct findings {
    struct finding rows[FINDING_NUMBERS + 1]; // eval mode and evaluation are one finding
    size_t count;
};

// What the clause of a part of the report's verdict is filled from.
void findings_rest_on(const struct run_report *report, const struct verdict_part *part,
                      struct evidence *evidence);

// Once the verdict stands.
void findings_make(struct findings *findings, const struct run_report *report);

#endif
