// SPDX-License-Identifier: Apache-2.0
// What torch.profiler makes of the events of a name: an op, a call of the runtime, what a device
// did, or nothing; and under which name it lists them.
#ifndef GAIT_ANALYSE_OP_SITES_H
#define GAIT_ANALYSE_OP_SITES_H

#include <stdbool.h>

#include <gait/internal/ops.h>

#include "analyse/ops/op_texts.h"

enum op_site_kind {
    OP_SITE_UNKNOWN,
    OP_SITE_OTHER,
    OP_SITE_OP,
    OP_SITE_PYTHON,
    OP_SITE_CALL,   // of the runtime, or what a profiler took for itself
    OP_SITE_DEVICE, // work of a device
    OP_SITE_MEMORY, // an allocation, as other tools' traces have it
};

struct op_site {
    enum op_site_kind kind;
    bool is_range;
    uint32_t name, called; // texts: of all steps, and of this one
};

struct op_sites {
    const struct gait_trace *trace;
    const struct gait_ops_query *query;
    struct op_texts *texts;
    struct op_site *rows;
};

GAIT_CHECK int op_sites_init(struct op_sites *sites, const struct gait_trace *trace,
                             const struct gait_ops_query *query, struct op_texts *texts);
void op_sites_finish(struct op_sites *sites); // takes a zeroed struct

GAIT_CHECK int op_sites_get(struct op_sites *sites, uint32_t site, const struct op_site **ret_site);

// What tells a row of a table: the name, and whether it is of a device or a range.
static inline uint32_t op_site_key(const struct op_site *site)
{
    return site->name * 4 + (site->kind == OP_SITE_DEVICE) * 2u + site->is_range;
}

#endif
