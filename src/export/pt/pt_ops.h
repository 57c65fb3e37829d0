// SPDX-License-Identifier: Apache-2.0
// What lasts, in a torch.profiler trace: ops with what torch knows of them, ranges,
// steps, and the flows from forward ops to their backward.
#ifndef GAIT_EXPORT_PT_OPS_H
#define GAIT_EXPORT_PT_OPS_H

#include <stdint.h>

#include <gait/trace.h>

#include "export/pt/pt_devices.h"
#include "export/pt/pt_functions.h"
#include "export/pt/pt_writer.h"

// The engine's range around a node, until it is known which node that is.
struct pt_waiting {
    struct gait_event event; // without name and arguments
    uint64_t id, index;
};

struct pt_ops {
    struct pt_writer writer;
    struct pt_waiting *waiting; // by track; id 0: none
    struct pt_functions functions;
    struct pt_devices devices;
};

struct pt_step {
    uint64_t number;
    uint32_t track;
    int64_t start_ns, duration_ns;
};

GAIT_CHECK int pt_ops_init(struct pt_ops *ops, const struct export_run *run);
void pt_ops_finish(struct pt_ops *ops);

GAIT_CHECK int pt_ops_span(struct pt_ops *ops, const struct gait_event *event);
GAIT_CHECK int pt_ops_async(struct pt_ops *ops, const struct gait_event *event);
GAIT_CHECK int pt_ops_step(struct pt_ops *ops, const struct pt_step *step);

// What was held back until more is known.
GAIT_CHECK int pt_ops_end(struct pt_ops *ops);

// Arguments of a program's own, as they are, each behind a comma.
GAIT_CHECK int pt_ops_others(struct pt_writer *writer, const struct gait_event *event);

#endif
