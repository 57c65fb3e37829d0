// SPDX-License-Identifier: Apache-2.0
#include "export/pt/pt_head.h"

#include <string.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "export/pt/pt_writer.h"
#include "vocabulary/metadata.h"

#define MAX_TEXT_BYTES ((size_t)1 << 30)

// --- names --------------------------------------------------------------------------

static void write_meta(struct pt_writer *writer, const char *what, int64_t tid)
{
    struct buffer *text = &writer->text;
    pt_writer_begin(writer, 'M');
    text->used = 0;
    if (buffer_printf(text, "\"name\": \"%s\", \"pid\": %lld, \"tid\": %lld, \"ts\": ", what,
                      (long long)writer->process.pid, (long long)tid) == 0)
        output_write(writer->out, text->bytes, text->used);
    pt_writer_time(writer, writer->begin_ns);
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
    const char *json = gait_trace_metadata(writer->trace, writer->shard, meta.program);
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
    int64_t tid = pt_writer_tid(writer, track);
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

int pt_head_name_track(struct pt_writer *writer, uint32_t track)
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
        json = valid_json(gait_trace_metadata(writer->trace, writer->shard, meta.distributed));
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
    const char *session = gait_trace_metadata(writer->trace, writer->shard, meta.session);
    if (!session || session[0] != '"' || !valid_json(session))
        return GAIT_OK;
    output_text(writer->out, "    \"trace_id\": ");
    output_text(writer->out, session);
    output_text(writer->out, ",\n");
    return GAIT_OK;
}

int pt_head_begin(struct pt_writer *writer)
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

int pt_head_end(struct pt_writer *writer)
{
    struct output_stream *out = writer->out;
    pt_writer_begin(writer, 'X');
    output_text(out, "\"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", "
                     "\"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"ts\": ");
    pt_writer_time(writer, writer->begin_ns);
    output_text(out, ", \"dur\": ");
    int64_t length_ns;
    if (__builtin_sub_overflow(writer->end_ns, writer->begin_ns, &length_ns) || length_ns < 0)
        length_ns = 0;
    char *put = output_reserve(out, NUMBER_TEXT_MAX);
    output_advance(out, number_put_thousandths(put, length_ns));
    output_text(out, ", \"args\": {\"Op count\": 0}}");
    pt_writer_begin(writer, 'M');
    output_text(out, "\"name\": \"process_sort_index\", \"pid\": \"Spans\", \"tid\": 0, \"ts\": ");
    pt_writer_time(writer, writer->begin_ns);
    output_text(out, ", \"args\": {\"sort_index\": 536870912}}");
    pt_writer_begin(writer, 'i');
    output_text(out, "\"s\": \"g\", \"name\": \"Iteration Start: PyTorch Profiler\", "
                     "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ");
    pt_writer_time(writer, writer->begin_ns);
    output_text(out, "}");
    pt_writer_begin(writer, 'i');
    output_text(out, "\"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", \"tid\": \"\", "
                     "\"ts\": ");
    pt_writer_time(writer, writer->end_ns);
    output_text(out, "}\n  ],\n    \"traceName\": ");
    int status = write_trace_name(writer);
    // its head says so of a window that was cut off
    const char *told = writer->run->options->metadata;
    if (writer->is_full && !(told && strstr(told, "\"partial\"")))
        output_text(out, ",\n    \"partial\": true");
    if (writer->is_full && writer->run->options->ret_is_partial)
        *writer->run->options->ret_is_partial = 1;
    output_text(out, "\n}\n");
    return status;
}
