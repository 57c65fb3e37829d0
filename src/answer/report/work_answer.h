// SPDX-License-Identifier: Apache-2.0
// What an answer says of the work of a PyTorch training: its floating point operations,
// what share they are of what the device can do, and the memory that ops hold.
#ifndef GAIT_ANSWER_WORK_ANSWER_H
#define GAIT_ANSWER_WORK_ANSWER_H

#include <stdbool.h>

struct run_report;
struct sheet;
struct torch_report;

void work_answer_put_flops(struct sheet *sheet, const struct run_report *report);
void work_answer_put_memory(struct sheet *sheet, const struct run_report *report);
// Whether there is anything for people in it.
bool work_answer_has_memory(const struct torch_report *torch);

#endif
