// SPDX-License-Identifier: Apache-2.0
// How often each op and each piece of device work ran, and how long in all, by its name.
#ifndef GAIT_ANALYSE_NAME_TOTALS_H
#define GAIT_ANALYSE_NAME_TOTALS_H

#include <stdbool.h>

#include <gait/trace.h>

#include "base/arena.h"
#include "vocabulary/roles.h"

struct name_total {
    const char *name;
    enum role role;           // OP, KERNEL, COLLECTIVE, COPY or SET
    uint64_t calls, total_ns; // of ops with the ops inside
};

struct name_totals {
    struct name_total *rows; // by role, then by name
    size_t count;
    uint64_t steps; // that a profiler numbered or a program marked, of all ranks; 0: none
};

// Rows and names belong to the arena.
GAIT_CHECK int name_totals_make(struct name_totals *totals, struct gait_trace *trace,
                                struct arena *arena);

// One name in two traces, or in one of them.
struct name_change {
    const char *name;
    enum role role;
    double a_calls, b_calls, a_ns, b_ns; // a step where both have steps, else in all
};

struct name_changes {
    struct name_change *rows; // the largest change of time first
    size_t count;
    bool is_by_step;
};

GAIT_CHECK int name_changes_make(struct name_changes *changes, const struct name_totals *a,
                                 const struct name_totals *b, struct arena *arena);

#endif
