// SPDX-License-Identifier: Apache-2.0
// Which steps of a PyTorch run are judged, and where their time went. What happens
// once (the first step warms up, something is compiled in it) says nothing of the
// steps that follow; so the steady ones are judged where that makes a difference.
#ifndef GAIT_ANALYSE_TORCH_JUDGED_H
#define GAIT_ANALYSE_TORCH_JUDGED_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/ledger/torch_phases.h"
#include "analyse/verdict/sentences.h"

// The first step, and those that compiled.
struct torch_apart {
    uint64_t phases[TORCH_MOST_PHASES], total_ns;
    uint64_t first_compile_ns;  // in the first one
    uint64_t before_compile_ns; // before it, on the first rank's thread
};

struct torch_judged {
    uint64_t phases[TORCH_MOST_PHASES], total_ns; // which they sum to
    uint64_t steps;
    bool is_steady;   // without those apart
    bool compiles_on; // behind the first steps too
};

struct run_report;
struct hook_facts;
struct torch_report;

// Takes in a step that is set apart.
void torch_judged_put_apart(struct torch_apart *apart, const uint64_t *phases, bool is_first);

// Takes in a step that is chosen: all of those are judged.
void torch_judged_add(struct torch_judged *judged, const uint64_t *phases);

// How long a thread compiled before that time.
uint64_t torch_judged_compile_before(const struct hook_facts *facts, int64_t at_ns);

// The report's steps are known; without steps the whole run is judged. Leaves a choice as it is.
void torch_judged_find(struct torch_report *torch, const struct run_report *report);

enum work_kind torch_judged_work(unsigned phase, const char *name);

#endif
