// SPDX-License-Identifier: Apache-2.0
// The phases of a PyTorch step: twelve that are always told, in this order,
// then those that users named (docs/TORCH.md).
#ifndef GAIT_ANALYSE_TORCH_PHASES_H
#define GAIT_ANALYSE_TORCH_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

enum torch_phase {
    TORCH_INPUT,
    TORCH_COPY,
    TORCH_FORWARD,
    TORCH_BACKWARD,
    TORCH_OPTIMIZER,
    TORCH_COMMUNICATION,
    TORCH_GC,
    TORCH_COMPILE,
    TORCH_CHECKPOINT,
    TORCH_EVALUATION,
    TORCH_LOGGING,
    TORCH_OTHER,
    TORCH_NAMED, // so many have names of ours; users' follow
    TORCH_MOST_PHASES = 64,
};

// What a site of the trace stands for.
enum torch_site {
    TORCH_SITE_NONE,
    TORCH_SITE_PHASE,      // a span of the ledger, or an evaluation
    TORCH_SITE_WINDOW,     // ops were on record
    TORCH_SITE_EPOCH,      // a mark: an epoch begins
    TORCH_SITE_EXIT,       // a mark: the script is over
    TORCH_SITE_CPU,        // a counter: CPU time of the step that ends
    TORCH_SITE_WAITS,      // a counter: how often the thread waited in it
    TORCH_SITE_MEMORY,     // a counter: bytes that the process has for itself
    TORCH_SITE_PROCESSOR,  // a counter: how long the thread has waited for a processor
    TORCH_SITE_FETCH,      // a loader's worker reads samples
    TORCH_SITE_COLLATE,    // and makes a batch of them
    TORCH_SITE_OP,         // torch's own
    TORCH_SITE_ANNOTATION, // a range of users, loaders, optimizers
};

struct torch_phases {
    const char *names[TORCH_MOST_PHASES];
    unsigned count;
    uint8_t *site_phases; // of a site, for TORCH_SITE_PHASE
    uint8_t *site_kinds;  // enum torch_site of a site
    uint32_t site_count;
};

// Names belong to the trace. Past TORCH_MOST_PHASES users' phases are `other`.
GAIT_CHECK int torch_phases_init(struct torch_phases *phases, const struct gait_trace *trace);
void torch_phases_finish(struct torch_phases *phases); // takes NULL and a zeroed struct

static inline enum torch_site torch_phases_kind(const struct torch_phases *phases, uint32_t site)
{
    return site < phases->site_count ? (enum torch_site)phases->site_kinds[site] : TORCH_SITE_NONE;
}

// Whether the phase keeps its time while an evaluation lasts. Saving, compiling
// and the like are no part of evaluating; what users named they want to see.
static inline bool torch_phases_outlasts(unsigned phase)
{
    return phase >= TORCH_NAMED || phase == TORCH_GC || phase == TORCH_COMPILE ||
           phase == TORCH_CHECKPOINT || phase == TORCH_LOGGING;
}

#endif
