// SPDX-License-Identifier: Apache-2.0
// Ranks are asked for at the end: before, only the launcher that the program may turn out
// to be knows who they will be.
#include "launch/run_own.h"

#include "base/fail.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

bool run_own_has(const struct gait_trace *trace, uint32_t shard, const char *invocation)
{
    const char *json = gait_trace_metadata(trace, shard, meta.invocation);
    return !json || !*invocation || json_is_text(json, invocation);
}

bool run_own_speaks(const char *directory, const char *invocation)
{
    struct gait_trace *trace;
    int64_t lowest = INT64_MAX;
    if (gait_trace_open(directory, &trace)) {
        fail_clear();
        return true;
    }
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        if (!run_own_has(trace, i, invocation) || gait_trace_shard(trace, i, &shard))
            continue;
        if (shard.rank >= 0 && shard.rank < lowest)
            lowest = shard.rank;
    }
    gait_trace_close(trace);
    return lowest == 0 || lowest == INT64_MAX;
}
