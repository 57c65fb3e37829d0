// SPDX-License-Identifier: Apache-2.0
// The facts of one thread, in order of start, as docs/TORCH.md lists them:
// what the hooks noted, still without any judgement.
#ifndef GAIT_ANALYSE_HOOK_FACTS_H
#define GAIT_ANALYSE_HOOK_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

#include "analyse/time/intervals.h"

enum hook_fact_kind {
    TORCH_FACT_PHASE,   // time of a phase, no more
    TORCH_FACT_MAKE,    // an iterator over a loader was made; id: the iterator, if known
    TORCH_FACT_ASK,     // it was asked and gave a batch; id: the iterator
    TORCH_FACT_EMPTY,   // it was asked and was exhausted
    TORCH_FACT_FORWARD, // id: the module
    TORCH_FACT_BACKWARD,
    TORCH_FACT_STEP, // of an optimizer; id: which
    TORCH_FACT_ZERO, // its gradients were thrown away
};

struct hook_fact {
    int64_t start_ns, end_ns;
    uint32_t id; // small numbers that stand for identities; TORCH_NO_ID: not known
    union {
        uint32_t samples;   // ASK
        uint32_t next_step; // STEP: the fact in which that optimizer steps again
    };
    uint32_t tokens;
    uint8_t kind, phase; // enum hook_fact_kind; number in struct torch_phases
    bool is_training;    // FORWARD: the module's mode
    bool is_discarded;   // BACKWARD: its gradients were thrown away; see torch_loops.h
    bool is_round;       // it makes a step of the work around it; see torch_rounds.h
};

#define TORCH_NO_ID UINT32_MAX
#define TORCH_NO_STEP UINT32_MAX

// From eval() to train() or the next eval() of one module.
struct torch_mode {
    int64_t start_ns, end_ns;
    uint32_t id;
};

struct hook_facts {
    struct hook_fact *rows; // in order of start, parents before children
    size_t count, capacity;
    struct torch_mode *modes; // in order of start
    size_t mode_count, mode_capacity;
    struct intervals windows; // with ops on record
    struct intervals pauses;  // gait recorded devices or took in what they did; no step's
    int64_t *epochs;          // when a framework said that one begins
    size_t epoch_count, epoch_capacity;
    int64_t end_ns; // of the script, as far as known
    uint32_t id_count;
};

// 32 bytes each: 2 GiB, a day of 2 ms steps with a dozen facts each.
enum { TORCH_MOST_FACTS = 1 << 26 };

void hook_facts_init(struct hook_facts *facts);
void hook_facts_finish(struct hook_facts *facts); // takes NULL and a zeroed struct

// The next fact that is what a step is for, as against waiting for its batch or for a
// window to open, of those that begin in the period; NULL: none is left. `at` goes
// through the facts with the steps.
const struct hook_fact *hook_facts_next_work(const struct hook_facts *facts,
                                             const struct interval *period, size_t *at);

// Appends, and brings into order.
GAIT_CHECK int hook_facts_add(struct hook_facts *facts, const struct hook_fact *fact);
GAIT_CHECK int hook_facts_add_mode(struct hook_facts *facts, const struct torch_mode *mode);
GAIT_CHECK int hook_facts_add_epoch(struct hook_facts *facts, int64_t at_ns);
GAIT_CHECK int hook_facts_sort(struct hook_facts *facts);

#endif
