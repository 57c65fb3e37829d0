// SPDX-License-Identifier: Apache-2.0
// What the first screen of a report says in a few lines, of what the rest of it has tables: what a
// step consists of on the devices and on the thread beside them, how the ranks differ, the run, the
// ops.
#ifndef GAIT_ANSWER_SCREEN_ANSWER_H
#define GAIT_ANSWER_SCREEN_ANSWER_H

#include <stdbool.h>

struct run_report;
struct sheet;

// In the head of a page, behind the verdict: a bar a rank with devices, and of the thread beside
// them; or one of the loop.
void screen_put_bars(struct sheet *sheet, const struct run_report *report);

// False: no step with devices is judged, and nothing is put.
bool screen_put_step(struct sheet *sheet, const struct run_report *report);

// The table `verdict_ranks`; people see it of several ranks.
void screen_put_ranks(struct sheet *sheet, const struct run_report *report);

void screen_say_run(struct sheet *sheet, const struct run_report *report);
void screen_say_ops(struct sheet *sheet, const struct run_report *report);

#endif
