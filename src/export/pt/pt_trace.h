// SPDX-License-Identifier: Apache-2.0
// The trace file of torch.profiler, in Kineto's schema: one process, and of that
// what such a file can say.
#ifndef GAIT_EXPORT_PT_TRACE_H
#define GAIT_EXPORT_PT_TRACE_H

#include <gait/error.h>

struct export_run;
GAIT_CHECK int pt_trace_write(const struct export_run *run);

#endif
