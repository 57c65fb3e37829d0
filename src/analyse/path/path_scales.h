// SPDX-License-Identifier: Apache-2.0
// What somebody wishes to take less time: globs over names of ops, kernels, collectives and
// annotations, of phases and of roles, each with a factor.
#ifndef GAIT_ANALYSE_PATH_SCALES_H
#define GAIT_ANALYSE_PATH_SCALES_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "base/option.h"

struct path_scale {
    char *pattern;
    double factor;
    bool is_met; // something of that name is in the run
};

// Which scales a name meets, as bits.
typedef uint8_t path_mask;
enum { PATH_MOST_SCALES = 8 * sizeof(path_mask) };

struct path_scales {
    struct path_scale rows[PATH_MOST_SCALES];
    size_t count;
};

// Each text is GLOB=FACTOR.
GAIT_CHECK int path_scales_read(struct path_scales *scales, const struct option_texts *texts);
void path_scales_finish(struct path_scales *scales); // takes a zeroed struct

// Notes what is met.
path_mask path_scales_match(struct path_scales *scales, const char *name);

// The product of the factors of those that are in both masks.
double path_scales_factor(const struct path_scales *scales, path_mask met, path_mask wanted);

#endif
