// SPDX-License-Identifier: Apache-2.0
// One walk over the shards.
#include "answer/trace_totals.h"

#include <stdbool.h>

int trace_totals_read(const struct gait_trace *trace, struct trace_totals *ret_totals)
{
    struct trace_totals totals = {.shards = gait_trace_shard_count(trace)};
    bool any = false;
    for (uint32_t i = 0; i < totals.shards; i++) {
        struct gait_shard_info shard;
        int status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        totals.events += shard.events;
        totals.dropped += shard.dropped;
        totals.bytes += shard.bytes;
        totals.incomplete += !shard.complete;
        if (shard.format_version > totals.format_version)
            totals.format_version = shard.format_version;
        if (shard.end_ns < shard.start_ns)
            continue;
        if (!any || shard.start_ns < totals.start_ns)
            totals.start_ns = shard.start_ns;
        if (!any || shard.end_ns > totals.end_ns)
            totals.end_ns = shard.end_ns;
        any = true;
    }
    *ret_totals = totals;
    return GAIT_OK;
}
