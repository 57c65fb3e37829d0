// SPDX-License-Identifier: Apache-2.0
// The read side of gait: a trace as a file for other tools, in one pass and in
// memory that does not grow with the trace. docs/EXPORTS.md says what is in it.
#ifndef GAIT_EXPORT_H
#define GAIT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

// A step of a training, as somebody else knows it.
struct gait_export_step {
    uint64_t number;
    int64_t begin_ns, end_ns; // since the epoch
};

// Gives events in order of start: 1 and one, 0 at the end, or an error.
typedef int gait_export_more(void *context, struct gait_event *ret_event, size_t size);

// What and how to export. `size` must be sizeof(struct gait_export_options);
// zero elsewhere means: everything, as it is on record.
struct gait_export_options {
    size_t size;
    const char *format;         // "pt-trace", "chrome", "stacks", "perfetto", "csv", "parquet"
    int gzip;                   // pack, whatever the file is called
    int internal;               // gait's own tracks too
    int64_t since_ns, until_ns; // events that begin in [since, until); 0 = open

    // Events beside those on record, for chrome, perfetto and csv; NULL: none. Those
    // of derived.h get lanes of their own.
    gait_export_more *more;
    void *more_context;

    // Of pt-trace, whose files hold one process each; parquet has the first of these too.
    uint32_t process;                     // one of its shards + 1; 0: the only one
    const struct gait_export_step *steps; // in order; NULL: those on record
    size_t step_count;
    uint32_t step_track;     // + 1; 0: the process's first thread
    const char *metadata;    // a JSON object whose members go into the file's head
    const char *distributed; // what it says of the group of processes: JSON; NULL:
                             // what is on record
    int has_strides;         // of tensors: they were on record
    uint64_t max_bytes;      // it ends early behind so many, not packed, and has "partial":
                             // true; 0: it does not
    int *ret_is_partial;     // becomes 1 where it did; NULL: nobody asks
};

// Writes the file at `path`, packed too if it ends in ".gz"; to standard output
// if it is NULL or "-". A regular file is put in place when it is whole: after a
// failure (gait_trace_error() says why) what was there before is there still.
GAIT_API GAIT_CHECK int gait_export(struct gait_trace *trace,
                                    const struct gait_export_options *options, const char *path);

#ifdef __cplusplus
}
#endif
#endif
