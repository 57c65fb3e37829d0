// SPDX-License-Identifier: Apache-2.0
// What a trace says of its processes, threads, damage and sites; part of trace.h.
#ifndef GAIT_TRACE_INFO_H
#define GAIT_TRACE_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gait_trace;

enum gait_track_kind {
    GAIT_TRACK_THREAD = 1,
    GAIT_TRACK_STREAM = 2,
    GAIT_TRACK_COUNTER = 3,
    GAIT_TRACK_PROCESS = 4,
};

// Functions that fill in a struct are told its size, so that fields can be added at its
// end: who was compiled with an older header gets the fields it knows, who was with a
// newer one gets 0 in the others. gait_x() passes sizeof and gait_x_sized() takes it.
// struct gait_arg, which stands in arrays, stays as it is.

struct gait_shard_info {
    const char *path, *host, *role, *run_id;
    int64_t pid, rank, subject_pid;  // rank -1: not known
    int64_t start_ns, end_ns;        // since the epoch
    uint64_t events, dropped, bytes; // a span counts once; bytes of the file
    uint64_t overhead_cpu_ns;        // what gait's own thread used
    int format_version, complete;    // complete: closed properly or made whole
};
GAIT_API uint32_t gait_trace_shard_count(const struct gait_trace *trace);
GAIT_API GAIT_CHECK int gait_trace_shard_sized(const struct gait_trace *trace, uint32_t index,
                                               struct gait_shard_info *ret_info, size_t size);
static inline GAIT_CHECK int gait_trace_shard(const struct gait_trace *trace, uint32_t index,
                                              struct gait_shard_info *ret_info)
{
    return gait_trace_shard_sized(trace, index, ret_info, sizeof(*ret_info));
}

struct gait_track_info {
    uint32_t shard;
    enum gait_track_kind kind;
    const char *key, *name; // key: the track's id as text ("4711"); name may be ""
    int64_t tid;            // 0 when the track is no thread
    uint64_t events, dropped;
    int internal;    // gait's own work, left out of answers unless asked for
    uint32_t parent; // number of the track that it belongs to: a stream's device; or GAIT_NO_TRACK
};
#define GAIT_NO_TRACK UINT32_MAX
GAIT_API uint32_t gait_trace_track_count(const struct gait_trace *trace);
GAIT_API GAIT_CHECK int gait_trace_track_sized(const struct gait_trace *trace, uint32_t index,
                                               struct gait_track_info *ret_info, size_t size);
static inline GAIT_CHECK int gait_trace_track(const struct gait_trace *trace, uint32_t index,
                                              struct gait_track_info *ret_info)
{
    return gait_trace_track_sized(trace, index, ret_info, sizeof(*ret_info));
}

struct gait_damage_info {
    const char *path;
    uint64_t offset, bytes;
    const char *what; // one sentence
};
GAIT_API uint32_t gait_trace_damage_count(const struct gait_trace *trace);
GAIT_API GAIT_CHECK int gait_trace_damage_sized(const struct gait_trace *trace, uint32_t index,
                                                struct gait_damage_info *ret_info, size_t size);
static inline GAIT_CHECK int gait_trace_damage(const struct gait_trace *trace, uint32_t index,
                                               struct gait_damage_info *ret_info)
{
    return gait_trace_damage_sized(trace, index, ret_info, sizeof(*ret_info));
}

// Metadata of one shard: JSON text by key; NULL past the last one or unknown.
GAIT_API const char *gait_trace_metadata(const struct gait_trace *trace, uint32_t shard,
                                         const char *key);
GAIT_API const char *gait_trace_metadata_key(const struct gait_trace *trace, uint32_t shard,
                                             uint32_t index);

// Sites carry one number for the whole trace, whichever shard they came from.
struct gait_site_info {
    const char *category, *name, *file;
    uint32_t line;
};
GAIT_API uint32_t gait_trace_site_count(const struct gait_trace *trace);
GAIT_API GAIT_CHECK int gait_trace_site_sized(const struct gait_trace *trace, uint32_t site,
                                              struct gait_site_info *ret_info, size_t size);
static inline GAIT_CHECK int gait_trace_site(const struct gait_trace *trace, uint32_t site,
                                             struct gait_site_info *ret_info)
{
    return gait_trace_site_sized(trace, site, ret_info, sizeof(*ret_info));
}

#ifdef __cplusplus
}
#endif
#endif
