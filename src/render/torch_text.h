// SPDX-License-Identifier: Apache-2.0
// The sections that only the report of a PyTorch run has.
#ifndef GAIT_RENDER_TORCH_TEXT_H
#define GAIT_RENDER_TORCH_TEXT_H

#include <stddef.h>

struct screen;
struct torch_report;

void torch_text_put_steps(const struct screen *screen); // before the ledger
void torch_text_put_more(const struct screen *screen);  // behind it

// ", hooks 2.30 ms (0.3 % of the steps)", or nothing if that is not known.
void torch_text_name_cost(const struct torch_report *torch, char *out, size_t room);

#endif
