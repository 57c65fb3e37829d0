// SPDX-License-Identifier: Apache-2.0
// Of the time that is judged: what leads, what is told beside it, what to try and what not.
#ifndef GAIT_ANALYSE_LEAD_H
#define GAIT_ANALYSE_LEAD_H

struct division;
struct evidence;
struct verdict;
struct verdict_part;
struct verdict_facts;

void lead_judge(const struct verdict_facts *facts, struct division *division,
                struct verdict *verdict);

// The parts, as they are told: `lead` first. Shares in the evidence that sentences need.
void lead_put_parts(const struct verdict_facts *facts, const struct division *division,
                    unsigned lead, struct verdict *verdict);

// What the clause of a part is filled from: of a step on average, else of all that is judged.
void lead_rest_on(const struct verdict *verdict, const struct verdict_part *part,
                  struct evidence *evidence);

#endif
