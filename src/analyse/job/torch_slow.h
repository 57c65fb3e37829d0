// SPDX-License-Identifier: Apache-2.0
// Which rank holds the others up, and where it loses the time. Communication is
// left out: that is where the others wait for it.
#ifndef GAIT_ANALYSE_TORCH_SLOW_H
#define GAIT_ANALYSE_TORCH_SLOW_H

struct torch_report;

// Sets report->slow; abstains where ranks hardly differ.
void torch_slow_find(struct torch_report *torch);

#endif
