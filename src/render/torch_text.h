// SPDX-License-Identifier: Apache-2.0
// The sections that only the report of a PyTorch run has.
#ifndef GAIT_RENDER_TORCH_TEXT_H
#define GAIT_RENDER_TORCH_TEXT_H

struct screen;

void torch_text_put_steps(const struct screen *screen); // before the ledger
void torch_text_put_more(const struct screen *screen);  // behind it

#endif
