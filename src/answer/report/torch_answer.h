// SPDX-License-Identifier: Apache-2.0
// What an answer says of a PyTorch training beyond any other run: its steady steps, the
// whole run, findings, ranks, epochs, ops.
#ifndef GAIT_ANSWER_TORCH_ANSWER_H
#define GAIT_ANSWER_TORCH_ANSWER_H

#include <stddef.h>

struct run_report;
struct sheet;
struct torch_report;

// The steady steps; and, behind where they go, all the rest.
void torch_answer_put_steps(struct sheet *sheet, const struct run_report *report);
void torch_answer_put_more(struct sheet *sheet, const struct run_report *report);

// Table `phases` of a run without steps: every phase with no time; nothing in it where
// `torch` is NULL.
void torch_answer_put_no_phases(struct sheet *sheet, const struct torch_report *torch);

// What the hooks cost: for people ", hooks 12 ms (0.1 % of the steps)", "" where nothing
// is known; for data.
void torch_answer_name_cost(const struct torch_report *torch, char *out, size_t room);
void torch_answer_put_cost(struct sheet *sheet, const struct torch_report *torch);

#endif
