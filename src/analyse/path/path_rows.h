// SPDX-License-Identifier: Apache-2.0
// The spans of one process that a path may lead through: of its threads, and of its devices.
#ifndef GAIT_ANALYSE_PATH_ROWS_H
#define GAIT_ANALYSE_PATH_ROWS_H

#include <gait/trace.h>

#include "analyse/path/dag.h"
#include "analyse/path/path_scales.h"
#include "facts/fact_slice.h"
#include "vocabulary/roles.h"

// What a name is to a path; filled for all sites before anything is read.
struct path_site {
    const char *name;
    path_mask name_mask, role_mask; // scales that the name meets, and those of its role
    uint8_t role, lane;             // enum role, enum device_lane
    bool is_engine;                 // an op that autograd's engine runs
};

struct path_sites {
    struct path_site *rows;
    uint32_t count;
};

GAIT_CHECK int path_sites_make(struct path_sites *sites, const struct gait_trace *trace,
                               struct path_scales *scales);
void path_sites_finish(struct path_sites *sites); // takes a zeroed struct

struct path_span {
    int64_t start_ns, end_ns;
    uint64_t link;
    uint32_t track, site;
};

struct path_list {
    struct path_span *rows;
    size_t count, capacity;
};

struct path_rows {
    const struct path_sites *sites;
    struct path_list host;   // once sorted: by track, then by start, the outer ones first
    struct path_list device; // once sorted: by start
    struct path_list calls;  // of the runtime, with a link; once sorted: by link
};

GAIT_CHECK int path_rows_add(struct path_rows *rows, const struct fact_slice *slice);
void path_rows_sort(struct path_rows *rows);
void path_rows_finish(struct path_rows *rows); // takes a zeroed struct

// The spans of one track among those of the host.
struct path_list path_rows_track(const struct path_rows *rows, uint32_t track);

// The call that launched device work; NULL: not on record.
const struct path_span *path_rows_launch(const struct path_rows *rows, uint64_t link);

// Whether a path can lead there: times beyond are nonsense, and would overflow.
static inline bool path_time_is_sane(int64_t start_ns, int64_t end_ns)
{
    return start_ns > -DAG_MOST_NS && end_ns < DAG_MOST_NS;
}

#endif
