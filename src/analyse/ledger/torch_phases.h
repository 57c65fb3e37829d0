// SPDX-License-Identifier: Apache-2.0
// The phases of a PyTorch step: twelve that are always told, in this order,
// then those that users named (docs/TORCH.md).
#ifndef GAIT_ANALYSE_TORCH_PHASES_H
#define GAIT_ANALYSE_TORCH_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "vocabulary/roles.h"

enum torch_phase {
#define PHASE(identifier, name, lasts) TORCH_##identifier,
#include "vocabulary/phases.def"
    TORCH_NAMED, // so many have names of ours; users' follow
    TORCH_MOST_PHASES = 64,
};

struct torch_phases {
    const char *names[TORCH_MOST_PHASES];
    unsigned count;
    uint8_t *site_phases; // of a site, for ROLE_PHASE
    uint8_t *site_roles;
    uint8_t *site_hints; // enum trace_hint, for shards that were imported
    uint32_t site_count;
};

// Names belong to the trace. Past TORCH_MOST_PHASES users' phases are `other`.
GAIT_CHECK int torch_phases_init(struct torch_phases *phases, const struct gait_trace *trace);
void torch_phases_finish(struct torch_phases *phases); // takes NULL and a zeroed struct

// Of a site in a shard that was imported.
static inline unsigned torch_phases_hint(const struct torch_phases *phases, uint32_t site)
{
    return site < phases->site_count ? phases->site_hints[site] : 0;
}

static inline enum role torch_phases_role(const struct torch_phases *phases, uint32_t site)
{
    return site < phases->site_count ? (enum role)phases->site_roles[site] : ROLE_OTHER;
}

// Whether the phase keeps its time while an evaluation lasts. Saving, compiling
// and the like are no part of evaluating; what users named they want to see.
static inline bool torch_phases_outlasts(unsigned phase)
{
    static const bool lasting[] = {
#define PHASE(identifier, name, lasts) lasts,
#include "vocabulary/phases.def"
    };
    return phase >= TORCH_NAMED || lasting[phase];
}

#endif
