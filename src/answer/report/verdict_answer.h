// SPDX-License-Identifier: Apache-2.0
// The verdict of a report: what leads, what to try and how much that saves at most.
#ifndef GAIT_ANSWER_VERDICT_ANSWER_H
#define GAIT_ANSWER_VERDICT_ANSWER_H

struct sheet;
struct verdict;

void verdict_answer_put(struct sheet *sheet, const struct verdict *verdict);

#endif
