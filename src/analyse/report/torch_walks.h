// SPDX-License-Identifier: Apache-2.0
// Ops, their work and their memory: a walk through the first rank's process, and one
// through the process that held most memory where that is another.
#ifndef GAIT_ANALYSE_TORCH_WALKS_H
#define GAIT_ANALYSE_TORCH_WALKS_H

#include <gait/trace.h>

struct arena;
struct torch_report;

// Fills in ops, flops and blocks of the report, whose ranks, steps and memory are known.
GAIT_CHECK int torch_walks_read(struct torch_report *torch, struct gait_trace *trace,
                                struct arena *arena);

#endif
