// SPDX-License-Identifier: Apache-2.0
#include "export/exporter.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "export/chrome/chrome_json.h"
#include "export/csv_rows.h"
#include "export/output/output_stream.h"
#include "export/parquet/parquet_rows.h"
#include "export/perfetto/perfetto_proto.h"
#include "export/perfetto/sample_chart.h"
#include "export/pt/pt_trace.h"
#include "load/run.h"
#include "vocabulary/samples.h"

// A longer suffix stands before one that it ends in.
static const struct export_format formats[] = {
    {"pt-trace", ".pt.trace.json", "trace of torch.profiler: TensorBoard, HTA, ui.perfetto.dev",
     pt_trace_write, .takes_more = false},
    {"stacks", ".stacks.json", "sampled stacks over time: ui.perfetto.dev, chrome://tracing",
     sample_chart_write, .takes_more = false},
    {"chrome", ".json", "Chrome trace JSON: ui.perfetto.dev, chrome://tracing", chrome_json_write,
     .takes_more = true},
    {"perfetto", ".pftrace", "Perfetto trace: ui.perfetto.dev, trace_processor",
     perfetto_proto_write, .takes_more = true},
    {"csv", ".csv", "one row an event: spreadsheets, pandas, databases", csv_rows_write,
     .takes_more = true},
    {"parquet", ".parquet", "rows in columns: DuckDB, Spark, Polars, pandas", parquet_rows_write,
     .takes_more = false},
};

const struct export_format *export_format_at(size_t index)
{
    return index < sizeof(formats) / sizeof(formats[0]) ? &formats[index] : NULL;
}

static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; export_format_at(i); i++) {
        if (name && strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

static int check_options(const struct gait_export_options *options,
                         const struct export_format **ret)
{
    if (!options || options->size != sizeof(*options))
        return fail(GAIT_ERR_ARGUMENT,
                    "options must not be NULL, and options->size must be sizeof *options");
    *ret = find_format(options->format);
    if (!*ret)
        return fail(GAIT_ERR_ARGUMENT, "no export format '%s'",
                    options->format ? options->format : "");
    if (options->more && !(*ret)->takes_more)
        return fail(GAIT_ERR_ARGUMENT,
                    "format '%s' holds recorded events only: export as chrome, perfetto or csv",
                    options->format);
    return GAIT_OK;
}

// To an open descriptor, which stays open; `name` says in messages what it is.
static int write_to(const struct export_run *wish, int fd, const char *name)
{
    const struct gait_export_options *options = wish->options;
    const struct export_format *format = NULL;
    struct output_stream out;
    int status = check_options(options, &format);
    if (!status)
        status = output_open(&out, fd, name, options->gzip);
    if (status)
        return status;
    struct export_run run = {wish->trace, options, wish->spans, name, &out};
    status = format->write(&run);
    // a failed write is why a format stopped, and its sentence says most
    if (out.status || !status) {
        int closed = output_close(&out);
        return closed ? closed : status;
    }
    output_abandon(&out);
    return status;
}

static int write_to_new(const struct export_run *wish, const char *path)
{
    struct own_file file;
    int status = own_file_open(&file, path);
    if (status)
        return status;
    status = write_to(wish, file.fd, path);
    if (!status)
        return own_file_keep(&file);
    own_file_drop(&file);
    return status;
}

int gait_export(struct gait_trace *trace, const struct gait_export_options *options,
                const char *path)
{
    GAIT_REQUIRE(trace);
    return export_write(&(struct export_run){.trace = trace, .options = options}, path);
}

int export_write(const struct export_run *wish, const char *path)
{
    const struct export_format *format = NULL;
    int status = check_options(wish->options, &format); // before a file is made
    if (status)
        return status;
    if (!path || strcmp(path, "-") == 0)
        return write_to(wish, STDOUT_FILENO, "standard output");
    if (slice_ends_with(slice_of(path), ".gait"))
        return fail(GAIT_ERR_ARGUMENT,
                    "'%s' has the ending of a recording, which an export must not replace: choose "
                    "another name",
                    path);
    struct gait_export_options packed = *wish->options;
    packed.gzip |= slice_ends_with(slice_of(path), ".gz");
    return write_to_new(&(struct export_run){wish->trace, &packed, wish->spans, NULL, NULL}, path);
}

bool export_is_aside(const struct gait_event *event)
{
    return event->kind == GAIT_KIND_SAMPLE && sample_word_has((uint64_t)event->phase, SAMPLE_ASIDE);
}

bool export_wants(const struct export_run *run, uint32_t track, int64_t start_ns)
{
    const struct gait_export_options *options = run->options;
    if ((options->since_ns && start_ns < options->since_ns) ||
        (options->until_ns && start_ns >= options->until_ns))
        return false;
    if (!run->spans)
        return true;
    const struct export_span *span = &run->spans[run->trace->run.tracks.tracks[track].info.shard];
    return start_ns >= span->since_ns && start_ns < span->until_ns;
}

// The caller's events, one ahead.
struct beside {
    const struct export_run *run;
    const struct export_pass *pass;
    struct gait_event event;
    int left; // 1: `event` is still to be given; 0: that was all; or an error
};

static void fetch(struct beside *beside)
{
    const struct gait_export_options *options = beside->run->options;
    do
        beside->left = options->more ? options->more(options->more_context, &beside->event,
                                                     sizeof(beside->event))
                                     : 0;
    while (beside->left == 1 &&
           !export_wants(beside->run, beside->event.track, beside->event.start_ns));
}

// Those that begin until then: they lie around what is on record.
static int give_beside(struct beside *beside, int64_t until_ns)
{
    int status = GAIT_OK;
    while (!status && beside->left == 1 && beside->event.start_ns <= until_ns) {
        status = beside->pass->take(beside->pass->context, &beside->event);
        if (!status)
            status = beside->run->out->status;
        fetch(beside);
    }
    return status ? status : beside->left < 0 ? beside->left : GAIT_OK;
}

int export_each_event_of(const struct export_run *run, const struct export_pass *pass)
{
    struct beside beside = {.run = run, .pass = pass};
    struct gait_query query = {.size = sizeof(query),
                               .kinds = pass->kinds,
                               .since_ns = run->options->since_ns,
                               .until_ns = run->options->until_ns,
                               .tracks = pass->tracks,
                               .track_count = pass->track_count,
                               .internal = run->options->internal};
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    int status = gait_cursor_open(run->trace, &query, &cursor);
    if (status)
        return status;
    fetch(&beside);
    int more = 1;
    while (!status && (more = gait_cursor_next(cursor, &event)) == 1) {
        if (!export_wants(run, event.track, event.start_ns) || export_is_aside(&event))
            continue;
        status = give_beside(&beside, event.start_ns);
        if (!status)
            status = pass->take(pass->context, &event);
        if (!status)
            status = run->out->status;
    }
    gait_cursor_close(cursor);
    if (!status && more == 0)
        status = give_beside(&beside, INT64_MAX);
    return status ? status : more;
}

int export_each_event(const struct export_run *run, export_take *take, void *context)
{
    struct export_pass pass = {.take = take, .context = context};
    return export_each_event_of(run, &pass);
}
