// SPDX-License-Identifier: Apache-2.0
// What the devices used in the parts of a training: its steps, epochs and phases. Devices work
// behind the host: a phase is when the host was in it. Of several ranks on a machine each has
// an equal part of its devices.
#ifndef GAIT_ANALYSE_ENERGY_PARTS_H
#define GAIT_ANALYSE_ENERGY_PARTS_H

#include "analyse/energy/energy_run.h"
#include "base/arena.h"

struct energy_part {
    const char *name; // of a phase; NULL: an epoch, by its number
    uint64_t number;
    int64_t start_ns; // of an epoch
    uint64_t ns;      // how long it lasted; of phases over all ranks
    struct energy energy;
};

struct energy_parts {
    struct energy steps;                            // of all times in which some rank was in a step
    uint64_t step_count, steps_ns, samples, tokens; // 0: not known
    struct energy_part *epochs, *phases;
    size_t epoch_count, phase_count;
    struct arena arena;
};

struct run_report;

// Of the run of that report, whose devices it has; of a choice without epochs, samples and tokens,
// which are of a whole run.
GAIT_CHECK int energy_parts_find(struct energy_parts *parts, const struct run_report *report,
                                 struct gait_trace *trace);
void energy_parts_finish(struct energy_parts *parts); // takes NULL and a zeroed struct

#endif
