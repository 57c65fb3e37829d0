// SPDX-License-Identifier: Apache-2.0
// The steps that the report counts, but for those that a profiler numbered: of gait's own
// recordings, and of traces of other tools whose loader, optimizer or ops tell them.
#ifndef GAIT_ANALYSE_RECORDED_STEPS_H
#define GAIT_ANALYSE_RECORDED_STEPS_H

#include <stdbool.h>

#include <gait/trace.h>

#include "analyse/steps/chosen.h"
#include "analyse/steps/steps.h"
#include "base/arena.h"

struct torch_ranks;
struct fact_ask;

struct device_step {
    int64_t start_ns, end_ns;
    const char *name;
};

struct recorded_step {
    uint32_t shard, track; // of the process and of the thread that made it
    bool has_devices;      // they were on record for all of it
    uint64_t number;
    struct device_step step; // its name is "step 5"
};

struct recorded_phase { // of all steps of a process
    uint32_t shard;
    const char *name;
    uint64_t ns;
};

struct recorded_steps {
    struct recorded_step *rows;
    size_t count, capacity;
    struct recorded_phase *phases; // of each process the longest first
    size_t phase_count, phase_capacity;
    struct arena names;
    const struct chosen *chosen;
};

// Of each process in order of start, with its phases. Phases are summed of the steps that begin in
// the chosen times; NULL: of all. Then, or in the same reading, facts answer who asks: they find
// the steps there, and the phases when all is read.
GAIT_CHECK int recorded_steps_find(struct recorded_steps *steps, struct gait_trace *trace,
                                   const struct chosen *chosen, const struct fact_ask *asks,
                                   size_t count);

// Whether no step of a run is worked out, as all of them bear names: of other tools' traces.
bool recorded_steps_are_named(const struct gait_trace *trace);

// The same, of what another has read: `begin`, marked steps and the ranks once each, `settle`.
// Names of phases belong to the trace.
void recorded_steps_begin(struct recorded_steps *steps, const struct chosen *chosen);
GAIT_CHECK int recorded_steps_add(struct recorded_steps *steps, const struct gait_trace *trace,
                                  const struct step_row *rows, size_t count);
GAIT_CHECK int recorded_steps_add_ranks(struct recorded_steps *steps,
                                        const struct gait_trace *trace,
                                        const struct torch_ranks *ranks);
void recorded_steps_settle(struct recorded_steps *steps);

// The first of that process, and how many there are.
const struct recorded_step *recorded_steps_of(const struct recorded_steps *steps, uint32_t shard,
                                              size_t *ret_count);
void recorded_steps_finish(struct recorded_steps *steps); // takes a zeroed struct

#endif
