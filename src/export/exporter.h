// SPDX-License-Identifier: Apache-2.0
// Writes the events of a trace for other tools, in one pass and in bounded
// memory. A new format is a file with one function and a line in exporter.c.
#ifndef GAIT_EXPORT_EXPORTER_H
#define GAIT_EXPORT_EXPORTER_H

#include <stddef.h>

#include <gait/trace.h>

// How to export. `size` must be sizeof(struct export_options).
struct export_options {
    size_t size;
    const char *format; // name of an export_format
    int gzip;           // pack, whatever the file is called
    int internal;       // gait's own tracks too
};

struct output_stream;

// One export under way.
struct export_run {
    struct gait_trace *trace;
    const struct export_options *options;
    struct output_stream *out;
};

struct export_format {
    const char *name, *suffix, *help; // suffix of a file's name: ".json"
    int (*write)(const struct export_run *run);
};

// The format of that place in the table, NULL past the last one.
const struct export_format *export_format_at(size_t index);

// Writes to the file at `path`, packed too if it ends in ".gz"; to standard
// output if it is NULL or "-". A shard's name is refused. After a failure no half of a file is
// left.
GAIT_CHECK int export_write_file(struct gait_trace *trace, const struct export_options *options,
                                 const char *path);

// For formats: calls `take` for every event in order of start. What it returns,
// if not 0, ends the pass; a failed output does too.
typedef int export_take(void *context, const struct gait_event *event);
GAIT_CHECK int export_each_event(const struct export_run *run, export_take *take, void *context);

#endif
