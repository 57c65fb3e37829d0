// SPDX-License-Identifier: Apache-2.0
// Ops and ranges are X with what torch knows of them, steps the ranges
// ProfilerStep#n, allocations [memory] instants; a forward op and its backward
// have a flow. Ops that torch marks as asynchronous stand on the thread that
// began them, as Kineto has it. Phases, flows and windows of gait's own have no
// place here: other formats hold them.
#include "export/pt/pt_trace.h"

#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/fail.h"
#include "export/number_map.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "export/pt/pt_head.h"
#include "export/pt/pt_ops.h"

#define MOST_BLOCKS ((size_t)1 << 24)
enum { BLOCK_LIVES = 1, BLOCK_GONE };

struct pt_trace {
    struct pt_ops ops;
    size_t next_step; // of the options' steps
    // of a part of a recording, of the CPU's memory
    struct number_map blocks;
    int64_t total; // of what the part has so far
};

// --- steps --------------------------------------------------------------------------

// The caller's steps that begin up to now.
static int give_steps(struct pt_trace *trace, int64_t now_ns)
{
    struct pt_writer *writer = &trace->ops.writer;
    const struct gait_export_options *options = writer->run->options;
    uint32_t track = options->step_track ? options->step_track - 1 : writer->first_thread;
    int status = GAIT_OK;
    while (!status && trace->next_step < options->step_count &&
           options->steps[trace->next_step].begin_ns <= now_ns) {
        const struct gait_export_step *given = &options->steps[trace->next_step++];
        struct pt_step step = {given->number, track, given->begin_ns, -1};
        if (track >= writer->all_tracks)
            continue;
        status = pt_head_name_track(writer, track);
        if (given->end_ns >= given->begin_ns)
            step.duration_ns = given->end_ns - given->begin_ns;
        if (!status)
            status = pt_ops_step(&trace->ops, &step);
    }
    return status;
}

static int take_step(struct pt_trace *trace, const struct gait_event *event)
{
    const struct pt_writer *writer = &trace->ops.writer;
    struct pt_step step = {event->id, event->track, event->start_ns, event->duration_ns};
    if (writer->has_step_ranges || writer->run->options->steps)
        return GAIT_OK;
    return pt_ops_step(&trace->ops, &step);
}

// --- instants -----------------------------------------------------------------------

static const struct device_type {
    const char *name;
    int type;
} device_types[] = {{"cpu", 0}, {"cuda", 1}, {"hip", 6}, {"xpu", 12}, {"mps", 13}};

// "cuda:1" is type 1, number 1; one that is alone in its kind has the number -1.
static void find_device(const char *name, int *ret_type, int *ret_number)
{
    const char *colon = strchr(name, ':');
    size_t count = colon ? (size_t)(colon - name) : strlen(name);
    *ret_type = 20; // somebody's own
    *ret_number = colon ? (int)strtol(colon + 1, NULL, 10) : -1;
    for (size_t i = 0; i < sizeof(device_types) / sizeof(device_types[0]); i++) {
        if (strlen(device_types[i].name) == count && memcmp(device_types[i].name, name, count) == 0)
            *ret_type = device_types[i].type;
    }
}

static int begin_instant(struct pt_writer *writer, uint32_t track, int64_t start_ns)
{
    int status = pt_writer_place(writer, track, start_ns);
    output_text(writer->out, ", \"args\": {");
    return status;
}

// Of a part of a recording: to torch.profiler, which began with the part, there were
// no blocks before it. Their releases are left out, and the total begins anew.
static bool is_of_part(struct pt_trace *trace, const struct gait_event *event)
{
    const uint64_t known = number_map_get(&trace->blocks, event->id);
    if (event->value < 0 && known != BLOCK_LIVES && trace->blocks.count < MOST_BLOCKS)
        return false;
    if (number_map_put(&trace->blocks, event->id, event->value > 0 ? BLOCK_LIVES : BLOCK_GONE))
        fail_clear(); // then what is not known counts as known
    trace->total = (int64_t)((uint64_t)trace->total + (uint64_t)event->value);
    return true;
}

static int take_memory(struct pt_trace *trace, const struct gait_event *event)
{
    struct pt_writer *writer = &trace->ops.writer;
    const bool is_part = writer->run->options->since_ns > 0;
    int type, number;
    find_device(event->name, &type, &number);
    if (!event->value || (is_part && !type && !is_of_part(trace, event)))
        return GAIT_OK; // the release of a block that nobody saw made: torch has none
    pt_writer_begin(writer, 'i');
    output_text(writer->out,
                "\"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", ");
    int status = begin_instant(writer, event->track, event->start_ns);
    char *put = output_reserve(writer->out, 512);
    if (!type)
        put = PT_PUT(put, "\"Total Reserved\": 0, ");
    if (event->arg_count) {
        put = PT_PUT(put, "\"Total Allocated\": ");
        put = number_put_int(put, is_part && !type ? trace->total : event->args[0].integer);
        put = PT_PUT(put, ", ");
    }
    put = PT_PUT(put, "\"Bytes\": ");
    put = number_put_int(put, event->value);
    put = PT_PUT(put, ", \"Device Id\": ");
    put = number_put_int(put, number);
    put = PT_PUT(put, ", \"Device Type\": ");
    put = number_put_int(put, type);
    put = PT_PUT(put, ", \"Addr\": ");
    put = number_put_uint(put, event->id);
    put = PT_PUT(put, ", \"finished\": false");
    output_advance(writer->out, put);
    pt_writer_index(writer);
    return status;
}

static int take_mark(struct pt_writer *writer, const struct gait_event *event)
{
    struct slice name;
    if (pt_writer_class(writer, event->site) == PT_LEFT_OUT)
        return GAIT_OK;
    int status = text_cache_get(&writer->sites, event->site, &name);
    if (status)
        return status;
    pt_writer_begin(writer, 'i');
    output_text(writer->out, "\"s\": \"t\", ");
    output_write(writer->out, name.bytes, name.count);
    status = begin_instant(writer, event->track, event->start_ns);
    output_text(writer->out, "\"Record function id\": 0");
    if (!status)
        status = pt_ops_others(writer, event);
    pt_writer_index(writer);
    return status;
}

// A gap is no work of the thread's: what is lost is said where it begins.
static int take_drop(struct pt_writer *writer, const struct gait_event *event)
{
    pt_writer_begin(writer, 'i');
    output_text(writer->out, "\"s\": \"t\", \"name\": \"dropped events\", ");
    int status = begin_instant(writer, event->track, event->start_ns);
    char *put = output_reserve(writer->out, 4 * NUMBER_TEXT_MAX);
    put = PT_PUT(put, "\"events\": ");
    put = number_put_uint(put, event->id);
    put = PT_PUT(put, ", \"us\": ");
    put = number_put_thousandths(put, pt_writer_length(writer, event));
    put = PT_PUT(put, ", \"reason\": ");
    output_advance(writer->out, put);
    if (!status)
        status = pt_writer_quote(writer, event->name);
    pt_writer_index(writer);
    return status;
}

// --- all of it ----------------------------------------------------------------------

static int take_event(void *context, const struct gait_event *event)
{
    struct pt_trace *trace = context;
    struct pt_writer *writer = &trace->ops.writer;
    const uint64_t most = writer->run->options->max_bytes;
    int status = GAIT_OK;
    if (writer->is_full)
        return GAIT_OK;
    if (most && output_bytes(writer->out) >= most) {
        writer->is_full = true;
        writer->end_ns = event->start_ns;
        return GAIT_OK;
    }
    if (writer->run->options->steps)
        status = give_steps(trace, event->start_ns);
    if (!status && !writer->is_named[event->track] &&
        pt_writer_class(writer, event->site) != PT_DEVICE)
        status = pt_head_name_track(writer, event->track);
    if (status)
        return status;
    switch (event->kind) {
    case GAIT_KIND_SPAN:
        return pt_ops_span(&trace->ops, event);
    case GAIT_KIND_ASYNC:
        return pt_ops_async(&trace->ops, event);
    case GAIT_KIND_STEP:
        return take_step(trace, event);
    case GAIT_KIND_MEMORY:
        return take_memory(trace, event);
    case GAIT_KIND_MARK:
        return take_mark(writer, event);
    case GAIT_KIND_DROP:
        return take_drop(writer, event);
    default:
        return GAIT_OK;
    }
}

static int write_events(struct pt_trace *trace)
{
    struct pt_writer *writer = &trace->ops.writer;
    struct export_pass pass = {.tracks = writer->tracks,
                               .track_count = writer->track_count,
                               .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_ASYNC |
                                        1u << GAIT_KIND_STEP | 1u << GAIT_KIND_MEMORY |
                                        1u << GAIT_KIND_MARK | 1u << GAIT_KIND_DROP,
                               .take = take_event,
                               .context = trace};
    int status = export_each_event_of(writer->run, &pass);
    if (!status)
        status = pt_ops_end(&trace->ops);
    if (!status && writer->run->options->steps)
        status = give_steps(trace, writer->is_full ? writer->end_ns : INT64_MAX);
    return status;
}

int pt_trace_write(const struct export_run *run)
{
    struct pt_trace trace = {.next_step = 0};
    int status = pt_ops_init(&trace.ops, run);
    if (status)
        return status;
    number_map_init(&trace.blocks, MOST_BLOCKS);
    status = pt_head_begin(&trace.ops.writer);
    if (!status)
        status = write_events(&trace);
    if (!status)
        status = pt_head_end(&trace.ops.writer);
    number_map_finish(&trace.blocks);
    pt_ops_finish(&trace.ops);
    return status;
}
