// SPDX-License-Identifier: Apache-2.0
// What to try against a kind of work, by what is known of the run.
#ifndef GAIT_ANALYSE_ADVICE_H
#define GAIT_ANALYSE_ADVICE_H

#include "analyse/verdict/sentences.h"

struct division;
struct evidence;
struct verdict_facts;

// NOTE_NONE: nothing. Puts the figures that its words need into the evidence.
enum note advice_on(const struct verdict_facts *facts, const struct division *division,
                    enum work_kind work, struct evidence *evidence);

#endif
