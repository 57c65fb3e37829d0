// SPDX-License-Identifier: Apache-2.0
// The sums over all shards that every description of a trace begins with.
#ifndef GAIT_ANSWER_TRACE_TOTALS_H
#define GAIT_ANSWER_TRACE_TOTALS_H

#include <stdint.h>

#include <gait/trace.h>

struct trace_totals {
    uint32_t shards, incomplete;
    uint64_t events, dropped, bytes;
    int64_t start_ns, end_ns; // 0, 0 when there is nothing
    int format_version;       // the newest
};

GAIT_CHECK int trace_totals_read(const struct gait_trace *trace, struct trace_totals *ret_totals);

#endif
