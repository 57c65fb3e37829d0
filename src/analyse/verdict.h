// SPDX-License-Identifier: Apache-2.0
// What the figures mean, in words: what holds the training up and what to try.
// Says that it cannot tell where the evidence is thin.
//
// Pure: facts in, words out. Kinds of work are told by the words in phase
// names ("load_batch" waits for input, "backward" computes).
#ifndef GAIT_ANALYSE_VERDICT_H
#define GAIT_ANALYSE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/steps.h"

struct phase {
    const char *name;
    uint64_t total_ns, parts; // in so many spans, 0: not known
};

struct verdict_facts {
    uint64_t events, dropped; // of the threads that made the steps
    struct steps_summary steps;
    const struct phase *phases; // of the steps, else of the whole run
    size_t phase_count;         // the rest not included
    uint64_t total_ns;          // phases and rest together
    bool is_torch;              // its phases are found, not marked
    bool lacks_optimizer;       // and none stepped
    bool is_disk_full;          // which is why most of the dropped were
    const char *slow_phase;     // where one rank makes the others wait; NULL: none does
    int64_t slow_rank;
    uint64_t slow_ns; // of the steps
};

struct verdict {
    const char *label;  // "INPUT-BOUND"
    char why[320];      // a sentence without full stop
    const char *advice; // what to try next, the same
    const char *phase;  // that stacks, where there are some, tell more of; NULL: none
};

void verdict_make(const struct verdict_facts *facts, struct verdict *ret_verdict);

#endif
