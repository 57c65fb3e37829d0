// SPDX-License-Identifier: Apache-2.0
// One look at the sites of the trace; whoever reads rows then knows by number.
#include "analyse/ledger/torch_phases.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/steps/trace_facts.h"
#include "base/fail.h"
#include "load/site_role.h"

static const char *const named[TORCH_NAMED] = {
#define PHASE(identifier, name, lasts) name,
#include "vocabulary/phases.def"
};

static unsigned phase_of(struct torch_phases *phases, const char *name)
{
    for (unsigned i = 0; i < phases->count; i++)
        if (!strcmp(phases->names[i], name))
            return i;
    if (phases->count == TORCH_MOST_PHASES)
        return TORCH_OTHER;
    phases->names[phases->count] = name;
    return phases->count++;
}

int torch_phases_init(struct torch_phases *phases, const struct gait_trace *trace)
{
    uint32_t sites = gait_trace_site_count(trace);
    *phases = (struct torch_phases){.count = TORCH_NAMED, .site_count = sites};
    memcpy(phases->names, named, sizeof named);
    phases->site_phases = calloc((size_t)sites + 1, 1);
    phases->site_roles = calloc((size_t)sites + 1, 1);
    phases->site_hints = calloc((size_t)sites + 1, 1);
    if (!phases->site_phases || !phases->site_roles || !phases->site_hints)
        return fail(GAIT_ERR_MEMORY, "no memory for %u sites", sites);
    for (uint32_t i = 0; i < sites; i++) {
        struct gait_site_info site;
        int status = gait_trace_site(trace, i, &site);
        if (status)
            return status;
        phases->site_roles[i] = (uint8_t)site_role(trace, i);
        phases->site_hints[i] = (uint8_t)trace_hint_of((enum role)phases->site_roles[i], site.name);
        if (phases->site_roles[i] == ROLE_PHASE)
            phases->site_phases[i] = (uint8_t)phase_of(phases, site.name);
    }
    return GAIT_OK;
}

void torch_phases_finish(struct torch_phases *phases)
{
    if (!phases)
        return;
    free(phases->site_phases);
    free(phases->site_roles);
    free(phases->site_hints);
    *phases = (struct torch_phases){.count = 0};
}
