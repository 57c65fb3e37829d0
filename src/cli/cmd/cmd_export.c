// SPDX-License-Identifier: Apache-2.0
// `gait export`: the events for other tools. Formats are in src/export.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gait/derived.h>
#include <gait/trace.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "base/slice.h"
#include "cli/frame/command.h"
#include "cli/io/output_name.h"
#include "cli/io/parquet_files.h"
#include "cli/io/pt_files.h"
#include "cli/scale/itwinai_files.h"
#include "cli/trace/choice_input.h"
#include "cli/trace/trace_door.h"
#include "export/exporter.h"
#include "launch/say.h"

#define PT_TRACE "pt-trace"
#define PARQUET "parquet"
#define ITWINAI "itwinai"
#define STACKS "stacks"
#define USUAL_ENDING ".json.gz"

struct export_values {
    const char *format, *output, *worker;
    bool is_packed, is_internal, is_each_window, has_steps;
    bool is_of_steps; // a value stands behind --steps: a choice that any format heeds
};

static bool is_stdout(const char *output)
{
    return !output || !strcmp(output, "-");
}

// The format that belongs to the suffix of the file's name, or NULL.
static const char *format_of(const char *path)
{
    struct slice name = slice_of(path);
    if (slice_ends_with(name, ".gz"))
        name.count -= strlen(".gz");
    for (size_t i = 0; export_format_at(i); i++)
        if (slice_ends_with(name, export_format_at(i)->suffix))
            return export_format_at(i)->name;
    return NULL;
}

// Without a format and a file: what each viewer opens. At a terminal it is a file beside the
// reader, because nobody reads JSON there, and never one that is there already.
static int choose_usual(struct export_values *values, const char *path, char name[PATH_MAX])
{
    char real[PATH_MAX];
    values->format = "chrome";
    if (values->output || !isatty(STDOUT_FILENO))
        return GAIT_OK;
    const int length = snprintf(name, PATH_MAX, "%s" USUAL_ENDING,
                                file_name_of(realpath(path, real) ? real : path));
    if (length >= PATH_MAX)
        return fail(GAIT_ERR_IO, "the path '%s' is too long", path);
    if (!access(name, F_OK))
        return fail(GAIT_ERR_STATE, "'%s' is already here; name a file with -o", name);
    values->output = name;
    return GAIT_OK;
}

// Fills in what the line leaves open, and refuses what cannot be meant.
static int choose(const struct export_values *values, struct gait_export_options *options)
{
    const char *output = values->output;
    bool to_stdout = is_stdout(output);
    options->format = values->format ? values->format : format_of(output);
    if (!options->format)
        return fail(GAIT_ERR_ARGUMENT,
                    "'%s' does not end in .json, .pftrace or .csv: give --format chrome, perfetto, "
                    "pt-trace, stacks, csv or parquet",
                    output);
    if (strcmp(options->format, PT_TRACE) != 0 && (values->worker || values->is_each_window))
        return fail(GAIT_ERR_ARGUMENT, "--%s is for --format " PT_TRACE " alone",
                    values->worker ? "worker" : "each-window");
    if (!strcmp(options->format, PT_TRACE) && values->has_steps && !values->is_of_steps)
        return fail(GAIT_ERR_ARGUMENT,
                    "a " PT_TRACE " always contains the steps: leave out --steps");
    if (!strcmp(options->format, ITWINAI) && to_stdout)
        return fail(GAIT_ERR_ARGUMENT, "itwinai's tables are three files: name a folder with -o");
    if (!strcmp(options->format, PARQUET) &&
        (options->gzip || (values->has_steps && !values->is_of_steps)))
        return fail(GAIT_ERR_ARGUMENT, "parquet has what is on record, packed: leave out --%s",
                    options->gzip ? "gzip" : "steps");
    bool is_binary = options->gzip || !strcmp(options->format, "perfetto");
    if (to_stdout && is_binary && isatty(STDOUT_FILENO))
        return fail(
            GAIT_ERR_ARGUMENT,
            "this format is binary and not for a terminal; name a file with -o, or use a pipe");
    return GAIT_OK;
}

// Of each rank from the begin of the first step that was chosen to the end of the last.
static int choose_spans(const struct chosen *chosen, const struct gait_trace *trace,
                        struct export_span **ret_spans)
{
    struct export_span *spans = calloc((size_t)chosen->shard_count + 1, sizeof *spans);
    if (!spans)
        return fail(GAIT_ERR_MEMORY, "no memory for the times of %u files", chosen->shard_count);
    for (uint32_t i = 0; i < chosen->shard_count; i++) {
        const struct interval span = chosen_span(chosen, trace, i);
        spans[i] = (struct export_span){span.start_ns, span.end_ns};
    }
    *ret_spans = spans;
    return GAIT_OK;
}

static int choose_times(const struct choice_input *input, const struct gait_trace *trace,
                        struct gait_export_options *options, struct export_span **ret_spans)
{
    const struct chosen *chosen = choice_input_chosen(input);
    struct interval all;
    if (!chosen)
        return GAIT_OK;
    if (!strcmp(options->format, ITWINAI))
        return fail(GAIT_ERR_ARGUMENT,
                    "itwinai's tables are of a whole run: leave out --steps, --from and --to");
    all = chosen_all(chosen);
    if (all.start_ns > INT64_MIN)
        options->since_ns = all.start_ns;
    if (all.end_ns < INT64_MAX)
        options->until_ns = all.end_ns;
    if (options->since_ns < 0 || options->until_ns < 0)
        return fail(GAIT_ERR_ARGUMENT, "the times chosen are before 1970");
    return chosen->is_of_time_alone ? GAIT_OK : choose_spans(chosen, trace, ret_spans);
}

static int next_derived(void *derived, struct gait_event *ret_event, size_t size)
{
    return gait_derived_next_sized(derived, ret_event, size);
}

// A value behind --steps chooses, whatever else it adds.
static int write_with_steps(const struct export_values *values, const struct export_run *wish)
{
    struct gait_export_options given = *wish->options;
    struct gait_derived *derived = NULL;
    int status = gait_derived_open(wish->trace, NULL, &derived);
    if (status)
        return status;
    given.more = next_derived;
    given.more_context = derived;
    status = export_write(
        &(struct export_run){.trace = wish->trace, .options = &given, .spans = wish->spans},
        values->output);
    if (!status && !values->is_of_steps && gait_derived_why_none(derived))
        say("--steps adds nothing: %s", gait_derived_why_none(derived));
    gait_derived_close(derived);
    return status;
}

static int write_it(const struct export_values *values, const struct export_run *wish,
                    const char *path)
{
    const struct gait_export_options *options = wish->options;
    struct gait_trace *trace = wish->trace;
    const struct pt_files files = {.trace = trace,
                                   .options = *options,
                                   .spans = wish->spans,
                                   .output = values->output,
                                   .worker = values->worker,
                                   .is_each_window = values->is_each_window};
    int status = values->output ? output_name_spare_recording(values->output) : 0;
    if (status)
        return status;
    if (!strcmp(options->format, PT_TRACE))
        return pt_files_write(&files);
    if (!strcmp(options->format, PARQUET))
        return parquet_files_write(
            trace, options,
            &(struct parquet_place){.folder = values->output, .path = path, .spans = wish->spans});
    if (!strcmp(options->format, ITWINAI))
        return itwinai_files_write(values->output, trace);
    const bool is_of_calls = values->is_of_steps && !strcmp(options->format, STACKS);
    return values->has_steps && !is_of_calls ? write_with_steps(values, wish)
                                             : export_write(wish, values->output);
}

static int run(const void *given, const struct operands *operands)
{
    struct export_values values = *(const struct export_values *)given;
    const char *path = operands->texts[0];
    const bool is_usual = !values.format && is_stdout(values.output);
    char name[PATH_MAX];
    struct gait_export_options options = {
        .size = sizeof options, .gzip = values.is_packed, .internal = values.is_internal};
    struct export_span *spans = NULL;
    struct gait_trace *trace, *chosen;
    struct choice_input choice = {.of_ranks = NULL};
    int status = is_usual ? choose_usual(&values, path, name) : GAIT_OK;
    status = status ? status : choice_input_read(&choice, 0, operands);
    values.has_steps = choice.choice.shows_steps;
    values.is_of_steps = choice.choice.has_steps;
    if (status || choose(&values, &options))
        return command_refuse(&cmd_export);
    if (trace_door_open(path, operands->is_uncached, &trace))
        return command_refuse_trace(&cmd_export);
    chosen = trace;
    int code = EXIT_OK;
    if (choice_input_apply(&choice, &chosen) || choose_times(&choice, chosen, &options, &spans) ||
        write_it(&values,
                 &(struct export_run){.trace = chosen, .options = &options, .spans = spans}, path))
        code = command_refuse(&cmd_export);
    free(spans);
    choice_input_finish(&choice);
    gait_trace_close(trace);
    if (code == EXIT_OK)
        code = command_finish_output(&cmd_export);
    if (code == EXIT_OK && is_usual)
        say("%s is a Chrome trace, for ui.perfetto.dev and chrome://tracing; --format names "
            "another format, -o a file",
            is_stdout(values.output) ? "the output" : name);
    return code;
}

static const char *const formats[] = {"pt-trace", "chrome", STACKS,  "perfetto",
                                      "csv",      PARQUET,  ITWINAI, NULL};

#define AT(field) offsetof(struct export_values, field)
static const struct option options[] = {
    {CHOICE_ROW('f', "format", "FORMAT", formats, AT(format),
                "chrome, perfetto, pt-trace, stacks, csv, parquet or itwinai; else as FILE "
                "ends, without FILE chrome")},
    {TEXT_ROW('o', "output", "FILE", AT(output),
              "output file (.gz compresses it); a folder for parquet, and if you like for "
              "pt-trace, with one file for each process")},
    {FLAG_ROW('z', "gzip", AT(is_packed), "compress the output, whatever its name")},
    {FLAG_ROW(0, "each-window", AT(is_each_window), "write one pt-trace for each window")},
    {TEXT_ROW(0, "worker", "NAME", AT(worker),
              "prefix of pt-trace names in a folder, not HOST_rankRANK_PID")},
    {FLAG_ROW(0, "internal", AT(is_internal), "include gait's own work")},
};

const struct command cmd_export = {
    .purpose = "write the events for other tools",
    .summary = "Writes the events of a shard or a run directory in a format for other tools.",
    .about =
        {"Without --format and -o the format is chrome, which most viewers open. At a terminal the "
         "file "
         "is RUN" USUAL_ENDING
         " in the current folder, which must not be there yet; else it goes to "
         "standard output.",
         "chrome is Chrome trace JSON, for ui.perfetto.dev and chrome://tracing. perfetto is "
         "Perfetto's "
         "own format, for ui.perfetto.dev and trace_processor; it is smaller, and overlapping "
         "spans get "
         "separate lanes. csv has one row for each event, with the columns "
         "kind,category,name,rank,pid,tid,start_ns,duration_ns,id,value,args.",
         "pt-trace is the format of torch.profiler, for TensorBoard, Holistic Trace Analysis and "
         "ui.perfetto.dev. A file holds one process. A folder gets one file for each process that "
         "ran "
         "PyTorch, named {worker}.{ns}.pt.trace.json; gait never overwrites a file there.",
         "parquet has the columns of csv, what each span belongs to, and of the rank folders: "
         "run=NAME/rank=N/part-0.parquet, as DuckDB, Spark, Polars and pandas read Hive's "
         "partitions. "
         "Where a process of the run has no rank, all lie in run=NAME, and rank is a column.",
         "stacks is Chrome trace JSON of the stacks that gait record sampled, with one slice for "
         "each "
         "call on each thread.",
         "gait derives the steps and phases of a PyTorch training when it reads a recording; the "
         "recording does not contain them. --steps, also with a value, adds them as gait report "
         "counts "
         "them. With a value each rank is cut at its own steps. In csv they "
         "are rows of category derived: kind step, and kind span with the phase as name and the "
         "step "
         "number as argument. In chrome and perfetto they are a lane beside the training thread.",
         "itwinai is the tables of that tool's scalability report, in the folder of -o: "
         "epoch-time, "
         "gpu-energy-data and computation-data, each where the run has it. Name the folder "
         "scalability-metrics/RUN, and its own report reads it.",
         "Events are sorted by start, however large the trace is. Times keep their nanoseconds. "
         "Bytes "
         "in names that are not UTF-8 become U+FFFD."},
    .examples =
        {{"gait export run1", "Write run1.json.gz, for ui.perfetto.dev and chrome://tracing."},
         {"gait export run1 -o run1.pftrace", "Write a timeline for ui.perfetto.dev."},
         {"gait export run1 --format csv | head", "Show the first events as rows."},
         {"gait export run1 --format parquet -o lake", "Add the run to a folder of Parquet files."},
         {"gait export run1 --steps -o run1.csv", "Add the steps and phases of the report."},
         {"gait export run1 --format pt-trace -o traces --gzip",
          "Write one compressed trace for each process."}},
    .exit_status =
        "0: success. 2: wrong usage, unreadable input, or output that cannot be written.",
    .line = {.command = "export",
             COMMAND_READS_PATH(options),
             .choice = CHOICE_SHOW_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK,
             .has_trace = true},
    .run = run,
};
