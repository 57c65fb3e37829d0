// SPDX-License-Identifier: Apache-2.0
// Stacks as pprof's profile.proto, packed with gzip as its readers expect it.
#ifndef GAIT_CLI_STACK_PPROF_H
#define GAIT_CLI_STACK_PPROF_H

#include <stdio.h>

#include <gait/error.h>

#include "analyse/stacks/stack_set.h"

struct stack_pprof {
    const struct stack_set *set;
    int64_t period_ns;             // what a sample stands for; 0: not known
    int64_t start_ns, duration_ns; // since the epoch; 0: not known
};

// Errors of `out` stay in it, to be asked with ferror().
GAIT_CHECK int stack_pprof_put(FILE *out, const struct stack_pprof *profile);

#endif
