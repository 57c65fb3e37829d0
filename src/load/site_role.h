// SPDX-License-Identifier: Apache-2.0
// The role of each site of a trace. It is decided once, when the trace is opened: who asks
// for it row by row only looks it up.
#ifndef GAIT_LOAD_SITE_ROLE_H
#define GAIT_LOAD_SITE_ROLE_H

#include <stdbool.h>

#include "load/run.h"
#include "vocabulary/roles.h"

// ROLE_OTHER for a number that is none.
static inline enum role site_role(const struct gait_trace *trace, uint32_t site)
{
    const struct site_table *sites = &trace->run.sites;
    return site < sites->count ? (enum role)sites->roles[site] : ROLE_OTHER;
}

// Whether the trace has any site of that set of roles (ROLE_BIT).
static inline bool site_role_any(const struct gait_trace *trace, uint32_t roles)
{
    for (size_t i = 0; i < trace->run.sites.count; i++)
        if (roles & ROLE_BIT(trace->run.sites.roles[i]))
            return true;
    return false;
}

#endif
