// SPDX-License-Identifier: Apache-2.0
// The words and their order are Kineto's (libkineto/src/output_json.cpp), with
// one event a line, which no reader minds and which halves the file.
#include "export/pt/pt_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

// Kineto counts time from the last whole quarter of a year since 1970, so that a
// double holds every nanosecond and files of several ranks can be laid together.
#define QUARTER_NS (7889238 * INT64_C(1000000000))
#define MAX_TEXT_BYTES ((size_t)1 << 30)

// What torch.profiler has no word for, and what is no part of the program.
static const enum role left_out[] = {ROLE_PHASE, ROLE_FETCH, ROLE_WINDOW};

// What Kineto has a category for.
static const uint32_t kinetos = ROLES_OF_DEVICES | ROLE_BIT(ROLE_RUNTIME) | ROLE_BIT(ROLE_SYNC) |
                                ROLE_BIT(ROLE_OVERHEAD) | ROLE_BIT(ROLE_DEVICE_ANNOTATION);

static enum pt_class class_of(const char *category, const char *name)
{
    if (!strcmp(category, role_category(ROLE_OP)))
        return strncmp(name, PT_EVALUATES, strlen(PT_EVALUATES)) ? PT_OP : PT_EVALUATE;
    if (!strcmp(category, role_category(ROLE_PYTHON)))
        return PT_PYTHON;
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        if (!strcmp(category, role_category(left_out[i])))
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
        writer->classes[site] =
            writer->has_devices && kinetos & ROLE_BIT(role_of(info.category, info.name))
                ? PT_DEVICE
                : (uint8_t)class_of(info.category, info.name);
    return (enum pt_class)writer->classes[site];
}

// What Kineto calls so already keeps its category, all else is a range of the program's.
static const char *category_of(enum pt_class class, const char *category, const char *name)
{
    if (class == PT_OP || class == PT_EVALUATE)
        return role_category(ROLE_OP);
    if (class == PT_PYTHON)
        return role_category(ROLE_PYTHON);
    return kinetos & ROLE_BIT(role_of(category, name)) ? category : role_category(ROLE_ANNOTATION);
}

static int make_site(void *context, uint32_t site, struct buffer *out)
{
    struct pt_writer *writer = context;
    struct gait_site_info info;
    int status = gait_trace_site(writer->trace, site, &info);
    if (!status)
        status =
            buffer_printf(out, "\"cat\": \"%s\", \"name\": ",
                          category_of(pt_writer_class(writer, site), info.category, info.name));
    if (!status)
        status = utf8_append_json(out, info.name, strlen(info.name));
    return status ? status : buffer_append(out, ", ", 2);
}

static int make_span(void *context, uint32_t site, struct buffer *out)
{
    int status = buffer_printf(out, ",\n  {\"ph\": \"X\", ");
    return status ? status : make_site(context, site, out);
}

int64_t pt_writer_tid(const struct pt_writer *writer, uint32_t track)
{
    struct gait_track_info info;
    if (gait_trace_track(writer->trace, track, &info) || info.tid <= 0)
        return (int64_t)INT32_MAX - track; // no thread: a number no system gives
    return info.tid;
}

static int make_place(void *context, uint32_t track, struct buffer *out)
{
    const struct pt_writer *writer = context;
    struct gait_track_info info, device;
    if (writer->has_devices && !gait_trace_track(writer->trace, track, &info) &&
        info.kind == GAIT_TRACK_STREAM && info.parent != GAIT_NO_TRACK &&
        !gait_trace_track(writer->trace, info.parent, &device))
        return buffer_printf(out,
                             "\"pid\": %ld, \"tid\": %ld, \"ts\": ", strtol(device.key, NULL, 10),
                             strtol(info.key, NULL, 10));
    return buffer_printf(out,
                         "\"pid\": %lld, \"tid\": %lld, \"ts\": ", (long long)writer->process.pid,
                         (long long)pt_writer_tid(writer, track));
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
                processes ? "a pt-trace file holds one process, but this run has %u: name a folder "
                            "to get one file for each process, or export one shard"
                          : "this run contains no process (%u)",
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

int pt_writer_init(struct pt_writer *writer, const struct export_run *run)
{
    *writer = (struct pt_writer){.run = run, .trace = run->trace, .out = run->out};
    text_cache_init(&writer->sites, make_site, writer);
    text_cache_init(&writer->spans, make_span, writer);
    text_cache_init(&writer->places, make_place, writer);
    buffer_init(&writer->text, MAX_TEXT_BYTES);
    pt_inputs_init(&writer->inputs);
    writer->inputs.has_strides = run->options->has_strides;
    writer->all_tracks = gait_trace_track_count(run->trace);
    writer->all_sites = gait_trace_site_count(run->trace);
    for (uint32_t i = 0; i < gait_trace_shard_count(run->trace); i++)
        writer->has_devices = writer->has_devices || shard_owner(run->trace, i) != i;
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
    writer->has_step_ranges = site_role_any(writer->trace, ROLE_BIT(ROLE_STEP));
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
    text_cache_finish(&writer->spans);
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

void pt_writer_time(struct pt_writer *writer, int64_t time_ns)
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
    pt_writer_time(writer, start_ns);
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

void pt_writer_index_of(struct pt_writer *writer, uint64_t index)
{
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 16);
    put = PT_PUT(put, ", \"Ev Idx\": ");
    put = number_put_uint(put, index);
    put = PT_PUT(put, "}}");
    output_advance(writer->out, put);
}

void pt_writer_index(struct pt_writer *writer)
{
    pt_writer_index_of(writer, writer->event_count++);
}

// What was never ended lasted as long as the capture did.
int64_t pt_writer_length(const struct pt_writer *writer, const struct gait_event *event)
{
    int64_t length_ns = event->duration_ns;
    if (length_ns < 0 &&
        (__builtin_sub_overflow(writer->end_ns, event->start_ns, &length_ns) || length_ns < 0))
        return 0;
    return length_ns;
}
