// SPDX-License-Identifier: Apache-2.0
// A run without the files of ranks that were not chosen, as if they had never been there.
#ifndef GAIT_LOAD_RANK_CHOICE_H
#define GAIT_LOAD_RANK_CHOICE_H

#include "load/choice.h"
#include "load/run.h"

// Another trace, of the chosen ranks of this one. What is of no rank stays: meters, what
// `gait run` saw. A trace that names no rank is of rank 0. Fails where no rank is left.
GAIT_CHECK int rank_choice_open(const struct gait_trace *trace, const struct choice *choice,
                                struct gait_trace **ret_trace);

#endif
