// SPDX-License-Identifier: Apache-2.0
// What makes runs alike, so that their figures may stand beside each other.
#ifndef GAIT_ANALYSE_LIKENESS_H
#define GAIT_ANALYSE_LIKENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/arena.h"

// NULL or 0: not known.
struct likeness {
    const char *device;
    uint64_t ranks;
    double batch;     // samples a step, of all ranks
    const char *type; // of the numbers that most is computed with
};

struct run_report;

// Texts belong to the arena.
GAIT_CHECK int likeness_of(struct likeness *likeness, const struct run_report *report,
                           struct arena *arena);

struct likeness_of_run {
    const char *path;
    const struct likeness *is;
};

// In a sentence what one run is unlike another in; false: they are alike as far as is known. Of
// `sizes` of one training ranks differ, and the batch is the same in all or that of each rank is.
bool likeness_tell(struct likeness_of_run a, struct likeness_of_run b, bool are_sizes, char *out,
                   size_t room);

#endif
