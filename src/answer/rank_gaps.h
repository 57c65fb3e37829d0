// SPDX-License-Identifier: Apache-2.0
// Ranks that are not here, are here twice, or made fewer steps than others: figures of such a
// job are not what they look like.
#ifndef GAIT_ANSWER_RANK_GAPS_H
#define GAIT_ANSWER_RANK_GAPS_H

#include <stdbool.h>

#include <gait/trace.h>

#include "answer/sheet.h"

struct run_report;

// Of imported traces: ranks of the job that are not here, such as are here twice, and files that
// are not of one job. In front of all else, or as sections.
GAIT_CHECK int rank_gaps_say(struct sheet *sheet, const struct gait_trace *trace, bool is_front);

// Of ranks that made steps: two processes with one number at one time, and uneven steps.
void rank_gaps_say_steps(struct sheet *sheet, const struct run_report *report);

#endif
