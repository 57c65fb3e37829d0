// SPDX-License-Identifier: Apache-2.0
// The part of `gait report` that `gait energy` tells in full.
#ifndef GAIT_ANSWER_ENERGY_ANSWER_H
#define GAIT_ANSWER_ENERGY_ANSWER_H

struct energy_run;
struct sheet;

// A section and an object `energy`; nothing where nothing was measured.
void energy_answer_put_section(struct sheet *sheet, const struct energy_run *run);

#endif
