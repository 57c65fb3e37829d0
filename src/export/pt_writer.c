// SPDX-License-Identifier: Apache-2.0
// The words and their order are Kineto's (libkineto/src/output_json.cpp), with
// one event a line, which no reader minds and which halves the file.
#include "export/pt_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_check.h"
#include "base/utf8.h"
#include "export/number_text.h"
#include "export/output_stream.h"

// Kineto counts time from the last whole quarter of a year since 1970, so that a
// double holds every nanosecond and files of several ranks can be laid together.
#define QUARTER_NS (7889238 * INT64_C(1000000000))
#define MAX_TEXT_BYTES ((size_t)1 << 30)
#define STEP_PREFIX "ProfilerStep#"

// What torch.profiler has no word for, and what is no part of the program.
static const char *const left_out[] = {"phase", "loader", "torch", NULL};

static enum pt_class class_of(const char *category, const char *name)
{
    if (!strcmp(category, "cpu_op"))
        return strncmp(name, PT_EVALUATES, strlen(PT_EVALUATES)) ? PT_OP : PT_EVALUATE;
    if (!strcmp(category, "python_function"))
        return PT_PYTHON;
    for (size_t i = 0; left_out[i]; i++) {
        if (!strcmp(category, left_out[i]))
            return PT_LEFT_OUT;
    }
    return PT_ANNOTATION;
}

enum pt_class pt_writer_class(struct pt_writer *writer, uint32_t site)
{
    struct gait_site_info info;
    if (site >= writer->all_sites)
        return PT_LEFT_OUT;
    if (writer->classes[site] == PT_UNKNOWN && gait_trace_site(writer->trace, site, &info) == 0)
        writer->classes[site] = (uint8_t)class_of(info.category, info.name);
    return (enum pt_class)writer->classes[site];
}

// What Kineto calls so already keeps its category, all else is a range of the
// program's.
static const char *category_of(enum pt_class class, const char *category)
{
    static const char *const kinetos[] = {"kernel",       "gpu_memcpy",          "gpu_memset",
                                          "cuda_runtime", "cuda_driver",         "cuda_sync",
                                          "overhead",     "gpu_user_annotation", NULL};
    if (class == PT_OP || class == PT_EVALUATE)
        return "cpu_op";
    if (class == PT_PYTHON)
        return "python_function";
    for (size_t i = 0; kinetos[i]; i++) {
        if (!strcmp(category, kinetos[i]))
            return kinetos[i];
    }
    return "user_annotation";
}

static int make_site(void *context, uint32_t site, struct buffer *out)
{
    struct pt_writer *writer = context;
    struct gait_site_info info;
    int status = gait_trace_site(writer->trace, site, &info);
    if (!status)
        status = buffer_printf(out, "\"cat\": \"%s\", \"name\": ",
                               category_of(pt_writer_class(writer, site), info.category));
    if (!status)
        status = utf8_append_json(out, info.name, strlen(info.name));
    return status ? status : buffer_append(out, ", ", 2);
}

static int64_t tid_of(const struct pt_writer *writer, uint32_t track)
{
    struct gait_track_info info;
    if (gait_trace_track(writer->trace, track, &info) || info.tid <= 0)
        return (int64_t)INT32_MAX - track; // no thread: a number no system gives
    return info.tid;
}

static int make_place(void *context, uint32_t track, struct buffer *out)
{
    const struct pt_writer *writer = context;
    return buffer_printf(out,
                         "\"pid\": %lld, \"tid\": %lld, \"ts\": ", (long long)writer->process.pid,
                         (long long)tid_of(writer, track));
}

// --- which process ------------------------------------------------------------------

static bool is_same_process(const struct gait_shard_info *a, const struct gait_shard_info *b)
{
    return a->pid == b->pid && strcmp(a->host, b->host) == 0;
}

static bool makes_steps(struct gait_trace *trace, uint32_t shard)
{
    struct gait_shard_info info;
    return gait_trace_shard(trace, shard, &info) == 0 && info.events > 0 &&
           strcmp(info.role, "program") == 0;
}

// The one there is; of several the one of a program, if that is one.
static int find_only(struct pt_writer *writer)
{
    struct gait_shard_info first = {0}, info;
    uint32_t processes = 0, count = gait_trace_shard_count(writer->trace);
    for (int any = 0; any < 2 && !processes; any++) {
        for (uint32_t i = 0; i < count; i++) {
            if (gait_trace_shard(writer->trace, i, &info) ||
                (!any && !makes_steps(writer->trace, i)) ||
                (processes && is_same_process(&first, &info)))
                continue;
            if (!processes++) {
                writer->shard = i;
                first = info;
            }
        }
    }
    if (processes == 1)
        return GAIT_OK;
    return fail(GAIT_ERR_ARGUMENT,
                processes ? "a pt-trace file holds one process and this run has %u: give a folder "
                            "for a file each, or one shard instead of the run"
                          : "there is no process in this run (%u)",
                processes);
}

static int find_process(struct pt_writer *writer)
{
    uint32_t wanted = writer->run->options->process;
    int status = GAIT_OK;
    writer->shard = wanted - 1;
    if (!wanted)
        status = find_only(writer);
    return status ? status : gait_trace_shard(writer->trace, writer->shard, &writer->process);
}

// The process's own threads, and the time that the file is about.
static int find_tracks(struct pt_writer *writer)
{
    struct gait_shard_info shard;
    struct gait_track_info track;
    writer->first_thread = UINT32_MAX;
    for (uint32_t i = 0; i < writer->all_tracks; i++) {
        int status = gait_trace_track(writer->trace, i, &track);
        if (!status)
            status = gait_trace_shard(writer->trace, track.shard, &shard);
        if (status)
            return status;
        if (!is_same_process(&shard, &writer->process) ||
            (track.internal && !writer->run->options->internal))
            continue;
        writer->tracks[writer->track_count++] = i;
        if (writer->first_thread == UINT32_MAX || track.tid == writer->process.pid)
            writer->first_thread = i;
    }
    return GAIT_OK;
}

static void find_times(struct pt_writer *writer)
{
    const struct gait_export_options *options = writer->run->options;
    struct gait_shard_info shard;
    writer->begin_ns = writer->process.start_ns;
    writer->end_ns = writer->process.end_ns;
    for (uint32_t i = 0; i < gait_trace_shard_count(writer->trace); i++) {
        if (gait_trace_shard(writer->trace, i, &shard) ||
            !is_same_process(&shard, &writer->process))
            continue;
        writer->begin_ns = shard.start_ns < writer->begin_ns ? shard.start_ns : writer->begin_ns;
        writer->end_ns = shard.end_ns > writer->end_ns ? shard.end_ns : writer->end_ns;
    }
    if (options->since_ns)
        writer->begin_ns = options->since_ns;
    if (options->until_ns)
        writer->end_ns = options->until_ns;
    writer->base_ns = writer->begin_ns - writer->begin_ns % QUARTER_NS;
}

static void look_for_step_ranges(struct pt_writer *writer)
{
    struct gait_site_info info;
    for (uint32_t i = 0; i < writer->all_sites && !writer->has_step_ranges; i++)
        writer->has_step_ranges = gait_trace_site(writer->trace, i, &info) == 0 &&
                                  !strcmp(info.category, "user_annotation") &&
                                  !strncmp(info.name, STEP_PREFIX, strlen(STEP_PREFIX));
}

int pt_writer_init(struct pt_writer *writer, const struct export_run *run)
{
    *writer = (struct pt_writer){.run = run, .trace = run->trace, .out = run->out};
    text_cache_init(&writer->sites, make_site, writer);
    text_cache_init(&writer->places, make_place, writer);
    buffer_init(&writer->text, MAX_TEXT_BYTES);
    pt_inputs_init(&writer->inputs);
    writer->inputs.has_strides = run->options->has_strides;
    writer->all_tracks = gait_trace_track_count(run->trace);
    writer->all_sites = gait_trace_site_count(run->trace);
    writer->tracks = calloc((size_t)writer->all_tracks + 1, sizeof(*writer->tracks));
    writer->is_named = calloc((size_t)writer->all_tracks + 1, 1);
    writer->classes = calloc((size_t)writer->all_sites + 1, 1);
    int status = pt_links_init(&writer->links, writer->all_tracks);
    if (!status && (!writer->tracks || !writer->is_named || !writer->classes))
        status = fail(GAIT_ERR_MEMORY, "no memory for the threads of a trace");
    if (!status)
        status = find_process(writer);
    if (!status)
        status = find_tracks(writer);
    if (status) {
        pt_writer_finish(writer);
        return status;
    }
    find_times(writer);
    look_for_step_ranges(writer);
    return GAIT_OK;
}

void pt_writer_finish(struct pt_writer *writer)
{
    free(writer->tracks);
    free(writer->is_named);
    free(writer->classes);
    writer->tracks = NULL;
    writer->is_named = writer->classes = NULL;
    text_cache_finish(&writer->sites);
    text_cache_finish(&writer->places);
    pt_inputs_finish(&writer->inputs);
    pt_links_finish(&writer->links);
    buffer_finish(&writer->text);
}

// --- pieces of an event -------------------------------------------------------------

void pt_writer_begin(struct pt_writer *writer, char phase)
{
    static const char frame[] = ",\n  {\"ph\": \"?\", ";
    size_t skipped = writer->has_events ? 0 : 1;
    char *put = output_reserve(writer->out, sizeof(frame));
    memcpy(put, frame + skipped, sizeof(frame) - 1 - skipped);
    put += sizeof(frame) - 1 - skipped;
    put[-4] = phase;
    writer->has_events = true;
    output_advance(writer->out, put);
}

char *pt_writer_put_time(const struct pt_writer *writer, char *put, int64_t time_ns)
{
    int64_t since_base;
    if (__builtin_sub_overflow(time_ns, writer->base_ns, &since_base) || since_base < 0)
        since_base = 0;
    return number_put_thousandths(put, since_base);
}

static void write_time(struct pt_writer *writer, int64_t time_ns)
{
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX);
    output_advance(writer->out, pt_writer_put_time(writer, put, time_ns));
}

int pt_writer_place(struct pt_writer *writer, uint32_t track, int64_t start_ns)
{
    struct slice text;
    int status = text_cache_get(&writer->places, track, &text);
    if (status)
        return status;
    output_write(writer->out, text.bytes, text.count);
    write_time(writer, start_ns);
    return GAIT_OK;
}

int pt_writer_quote(struct pt_writer *writer, const char *text)
{
    struct buffer *buffer = &writer->text;
    buffer->used = 0;
    int status = utf8_append_json(buffer, text, strlen(text));
    if (!status)
        output_write(writer->out, buffer->bytes, buffer->used);
    return status;
}

// --- names --------------------------------------------------------------------------

static void write_meta(struct pt_writer *writer, const char *what, int64_t tid)
{
    struct buffer *text = &writer->text;
    pt_writer_begin(writer, 'M');
    text->used = 0;
    if (buffer_printf(text, "\"name\": \"%s\", \"pid\": %lld, \"tid\": %lld, \"ts\": ", what,
                      (long long)writer->process.pid, (long long)tid) == 0)
        output_write(writer->out, text->bytes, text->used);
    write_time(writer, writer->begin_ns);
    output_text(writer->out, ", \"args\": {");
}

static void write_sort_index(struct pt_writer *writer, const char *what, int64_t tid, int64_t index)
{
    write_meta(writer, what, tid);
    output_text(writer->out, "\"sort_index\": ");
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX);
    output_advance(writer->out, number_put_int(put, index));
    output_text(writer->out, "}}");
}

// The content of a JSON text without escapes, else "python".
static int name_of_program(struct pt_writer *writer, struct buffer *out)
{
    const char *json = gait_trace_metadata(writer->trace, writer->shard, "program");
    size_t bytes = json ? strlen(json) : 0;
    if (bytes > 2 && json[0] == '"' && !memchr(json, '\\', bytes))
        return buffer_append(out, json + 1, bytes - 2);
    return buffer_append(out, "python", strlen("python"));
}

static int write_name(struct pt_writer *writer, const struct buffer *name)
{
    output_text(writer->out, "\"name\": ");
    writer->text.used = 0;
    int status = utf8_append_json(&writer->text, (const char *)name->bytes, name->used);
    if (!status)
        output_write(writer->out, writer->text.bytes, writer->text.used);
    output_text(writer->out, "}}");
    return status;
}

static int name_track(struct pt_writer *writer, uint32_t track, struct buffer *name)
{
    struct gait_track_info info;
    int64_t tid = tid_of(writer, track);
    int status = gait_trace_track(writer->trace, track, &info);
    if (!status)
        status = buffer_printf(name, "thread %lld (", (long long)tid);
    if (!status)
        status = info.name[0] ? buffer_append(name, info.name, strlen(info.name))
                              : name_of_program(writer, name);
    if (!status)
        status = buffer_append(name, ")", 1);
    if (status)
        return status;
    write_meta(writer, "thread_name", tid);
    status = write_name(writer, name);
    write_sort_index(writer, "thread_sort_index", tid, tid);
    return status;
}

int pt_writer_name_track(struct pt_writer *writer, uint32_t track)
{
    struct buffer name;
    if (track >= writer->all_tracks || writer->is_named[track])
        return GAIT_OK;
    writer->is_named[track] = 1;
    buffer_init(&name, MAX_TEXT_BYTES);
    int status = name_track(writer, track, &name);
    buffer_finish(&name);
    return status;
}

static int name_process(struct pt_writer *writer)
{
    struct buffer name;
    buffer_init(&name, MAX_TEXT_BYTES);
    int status = name_of_program(writer, &name);
    write_meta(writer, "process_name", 0);
    if (!status)
        status = write_name(writer, &name);
    buffer_finish(&name);
    write_meta(writer, "process_labels", 0);
    output_text(writer->out, "\"labels\": \"CPU\"}}");
    write_sort_index(writer, "process_sort_index", 0, writer->process.pid);
    return status;
}

// --- head and tail ------------------------------------------------------------------

static const char *valid_json(const char *json)
{
    return json && json_is_valid(slice_of(json)) ? json : NULL;
}

// What torch says of the group of processes; of ours at least the rank.
static void write_distributed(struct pt_writer *writer)
{
    const char *json = valid_json(writer->run->options->distributed);
    if (!json)
        json = valid_json(gait_trace_metadata(writer->trace, writer->shard, "distributed"));
    if (json && json[0] == '{') {
        output_text(writer->out, "    \"distributedInfo\": ");
        output_text(writer->out, json);
        output_text(writer->out, ",\n");
    } else if (writer->process.rank >= 0) {
        output_text(writer->out, "    \"distributedInfo\": {\"rank\": ");
        char *put = output_reserve(writer->out, NUMBER_TEXT_MAX);
        output_advance(writer->out, number_put_int(put, writer->process.rank));
        output_text(writer->out, "},\n");
    }
}

// The members of the caller's object, without its braces.
static int write_members(struct pt_writer *writer)
{
    const char *json = writer->run->options->metadata;
    if (!json)
        return GAIT_OK;
    if (!valid_json(json))
        return fail(GAIT_ERR_ARGUMENT, "the metadata of an export must be JSON");
    const char *first = json + strspn(json, " \t\r\n");
    const char *last = strrchr(json, '}');
    if (*first != '{' || !last)
        return fail(GAIT_ERR_ARGUMENT, "the metadata of an export must be a JSON object");
    first++;
    if (first + strspn(first, " \t\r\n") == last)
        return GAIT_OK;
    output_text(writer->out, "    ");
    output_write(writer->out, first, (size_t)(last - first));
    output_text(writer->out, ",\n");
    return GAIT_OK;
}

static int write_trace_id(struct pt_writer *writer)
{
    const char *session = gait_trace_metadata(writer->trace, writer->shard, "session");
    if (!session || session[0] != '"' || !valid_json(session))
        return GAIT_OK;
    output_text(writer->out, "    \"trace_id\": ");
    output_text(writer->out, session);
    output_text(writer->out, ",\n");
    return GAIT_OK;
}

int pt_writer_head(struct pt_writer *writer)
{
    struct output_stream *out = writer->out;
    output_text(out, "{\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [],\n");
    int status = write_trace_id(writer);
    if (!status)
        status = write_members(writer);
    write_distributed(writer);
    output_text(out, "    \"host_name\": ");
    if (!status)
        status = pt_writer_quote(writer, writer->process.host);
    output_text(out, ",\n    \"displayTimeUnit\": \"ms\",\n    \"baseTimeNanoseconds\": ");
    char *put = output_reserve(out, NUMBER_TEXT_MAX);
    output_advance(out, number_put_int(put, writer->base_ns));
    output_text(out, ",\n    \"traceEvents\": [");
    return status ? status : name_process(writer);
}

// Not the file's: exports of one capture are the same wherever they go.
static int write_trace_name(struct pt_writer *writer)
{
    struct buffer name;
    buffer_init(&name, MAX_TEXT_BYTES);
    int status = buffer_printf(&name, "%s_%lld.pt.trace.json", writer->process.host,
                               (long long)writer->process.pid);
    if (!status)
        status = buffer_append(&name, "", 1);
    if (!status)
        status = pt_writer_quote(writer, (const char *)name.bytes);
    buffer_finish(&name);
    return status;
}

int pt_writer_tail(struct pt_writer *writer)
{
    struct output_stream *out = writer->out;
    pt_writer_begin(writer, 'X');
    output_text(out, "\"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", "
                     "\"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"ts\": ");
    write_time(writer, writer->begin_ns);
    output_text(out, ", \"dur\": ");
    int64_t length_ns;
    if (__builtin_sub_overflow(writer->end_ns, writer->begin_ns, &length_ns) || length_ns < 0)
        length_ns = 0;
    char *put = output_reserve(out, NUMBER_TEXT_MAX);
    output_advance(out, number_put_thousandths(put, length_ns));
    output_text(out, ", \"args\": {\"Op count\": 0}}");
    pt_writer_begin(writer, 'M');
    output_text(out, "\"name\": \"process_sort_index\", \"pid\": \"Spans\", \"tid\": 0, \"ts\": ");
    write_time(writer, writer->begin_ns);
    output_text(out, ", \"args\": {\"sort_index\": 536870912}}");
    pt_writer_begin(writer, 'i');
    output_text(out, "\"s\": \"g\", \"name\": \"Iteration Start: PyTorch Profiler\", "
                     "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ");
    write_time(writer, writer->begin_ns);
    output_text(out, "}");
    pt_writer_begin(writer, 'i');
    output_text(out, "\"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", \"tid\": \"\", "
                     "\"ts\": ");
    write_time(writer, writer->end_ns);
    output_text(out, "}\n  ],\n    \"traceName\": ");
    int status = write_trace_name(writer);
    output_text(out, "\n}\n");
    return status;
}
