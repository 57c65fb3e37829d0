// SPDX-License-Identifier: Apache-2.0
// Writes the events of a trace for other tools, in one pass and in bounded
// memory. A new format is a file with one function and a line in exporter.c.
#ifndef GAIT_EXPORT_EXPORTER_H
#define GAIT_EXPORT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>

#include <gait/export.h>

struct output_stream;

// What of a shard is exported: what begins in [since, until).
struct export_span {
    int64_t since_ns, until_ns;
};

// One export under way.
struct export_run {
    struct gait_trace *trace;
    const struct gait_export_options *options;
    const struct export_span *spans; // of each shard; NULL: all that the options leave
    const char *name;                // of the file, in messages and for formats that say it
    struct output_stream *out;
};

struct export_format {
    const char *name, *suffix, *help; // suffix of a file's name: ".json"
    int (*write)(const struct export_run *run);
    bool takes_more; // events beside those on record
};

// The format of that place in the table, NULL past the last one.
const struct export_format *export_format_at(size_t index);

// As gait_export(), with spans.
GAIT_CHECK int export_write(const struct export_run *wish, const char *path);

// Whether what begins on that track at that time is asked for.
bool export_wants(const struct export_run *run, uint32_t track, int64_t start_ns);

// For formats: calls `take` for every event that was asked for, in order of
// start. What it returns, if not 0, ends the pass; a failed output does too.
typedef int export_take(void *context, const struct gait_event *event);
GAIT_CHECK int export_each_event(const struct export_run *run, export_take *take, void *context);

// Samples that are for questions about phases: in no export, for no column says so.
bool export_is_aside(const struct gait_event *event);

struct export_pass {
    const uint32_t *tracks; // only these; NULL: all
    uint32_t track_count, kinds;
    export_take *take;
    void *context;
};
GAIT_CHECK int export_each_event_of(const struct export_run *run, const struct export_pass *pass);

#endif
