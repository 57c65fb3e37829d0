// SPDX-License-Identifier: Apache-2.0
// What of a run a command is asked about: reads the options, leaves the rest out, and says so
// in the answer.
//
//     choice_input_read(&input, of, operands)        before the run is opened
//     choice_input_apply(&input, &trace)             then, and `trace` is what is left of it
//     ... answer, with choice_input_chosen() ...
//     choice_input_put(&input, sheet)
//     choice_input_finish(&input)
#ifndef GAIT_CLI_CHOICE_INPUT_H
#define GAIT_CLI_CHOICE_INPUT_H

#include "analyse/steps/chosen.h"
#include "cli/frame/options.h"

struct sheet;

struct choice_input {
    struct choice choice;
    struct chosen chosen;
    struct gait_trace *of_ranks; // NULL: they are all chosen
};

GAIT_CHECK int choice_input_read(struct choice_input *input, unsigned of,
                                 const struct operands *operands);
// The trace that was given stays open, and the caller's; another one ends with the input.
GAIT_CHECK int choice_input_apply(struct choice_input *input, struct gait_trace **trace);
void choice_input_finish(struct choice_input *input); // takes a zeroed struct

// NULL: all of time.
const struct chosen *choice_input_chosen(const struct choice_input *input);

void choice_input_put(const struct choice_input *input, struct sheet *sheet);

#endif
