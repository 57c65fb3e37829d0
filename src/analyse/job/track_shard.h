// SPDX-License-Identifier: Apache-2.0
// The shard that a track is in.
#ifndef GAIT_ANALYSE_TRACK_SHARD_H
#define GAIT_ANALYSE_TRACK_SHARD_H

#include <gait/trace.h>

GAIT_CHECK static inline int track_shard(const struct gait_trace *trace, uint32_t track,
                                         struct gait_shard_info *ret_shard)
{
    struct gait_track_info info;
    int status = gait_trace_track(trace, track, &info);
    return status ? status : gait_trace_shard(trace, info.shard, ret_shard);
}

#endif
