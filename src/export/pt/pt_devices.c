// SPDX-License-Identifier: Apache-2.0
#include "export/pt/pt_devices.h"

#include <stdlib.h>

#include "base/fail.h"
#include "export/chrome/args_json.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "load/site_role.h"

#define MOST_LAUNCHES ((size_t)1 << 26)

int pt_devices_init(struct pt_devices *devices, uint32_t track_count)
{
    number_map_init(&devices->launches, MOST_LAUNCHES);
    devices->track_count = track_count;
    devices->open = calloc((size_t)track_count + 1, sizeof *devices->open);
    return devices->open ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the ops of a trace");
}

void pt_devices_finish(struct pt_devices *devices)
{
    for (uint32_t i = 0; devices->open && i < devices->track_count; i++)
        open_calls_finish(&devices->open[i]);
    free(devices->open);
    number_map_finish(&devices->launches);
    devices->open = NULL;
}

int pt_devices_op(struct pt_devices *devices, const struct gait_event *op, uint64_t number)
{
    int64_t end_ns;
    if (op->duration_ns < 0 || __builtin_add_overflow(op->start_ns, op->duration_ns, &end_ns))
        return GAIT_OK;
    (void)open_calls_at(&devices->open[op->track], op->start_ns);
    return open_calls_push(&devices->open[op->track], end_ns, number);
}

// Where a launch was made: torch has its call on the thread of its op.
struct caller {
    uint64_t op;
    uint32_t track;
};

// Numbers of ops grow with their begins: of threads that cannot be told apart the op that began
// last of those that are open.
static struct caller caller_of(struct pt_devices *devices, const struct pt_writer *writer,
                               const struct gait_event *call)
{
    const int64_t tid = pt_writer_tid(writer, call->track);
    struct caller latest = {0, call->track};
    for (uint32_t i = 0; i < writer->track_count; i++) {
        const uint32_t track = writer->tracks[i];
        const struct open_call *open = open_calls_at(&devices->open[track], call->start_ns);
        if (open && track != call->track && pt_writer_tid(writer, track) == tid)
            return (struct caller){open->number, track};
        if (open && open->number > latest.op)
            latest = (struct caller){open->number, track};
    }
    return latest;
}

// Each window counts its calls anew.
static uint64_t link_of(const struct pt_writer *writer, const struct gait_event *event)
{
    struct gait_track_info track;
    if (!event->link || gait_trace_track(writer->trace, event->track, &track))
        return 0;
    return event->link ^ (uint64_t)track.shard << 40;
}

static int write_arrow(struct pt_writer *writer, const struct gait_event *event, uint32_t track,
                       bool is_end)
{
    pt_writer_begin(writer, is_end ? 'f' : 's');
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 16);
    put = PT_PUT(put, "\"id\": ");
    put = number_put_uint(put, event->link);
    put = PT_PUT(put, ", ");
    output_advance(writer->out, put);
    int status = pt_writer_place(writer, track, event->start_ns);
    output_text(writer->out, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    output_text(writer->out, is_end ? ", \"bp\": \"e\"}" : "}");
    return status;
}

static int write_args(struct pt_writer *writer, const struct gait_event *event, uint64_t op)
{
    struct buffer *text = &writer->text;
    const char *comma = "";
    if (op) {
        char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 32);
        put = PT_PUT(put, "\"External id\": ");
        put = number_put_uint(put, op);
        output_advance(writer->out, put);
        comma = ", ";
    }
    for (size_t i = 0; i < event->arg_count; i++) {
        text->used = 0;
        int status = args_json_append(text, &event->args[i], 1);
        if (status)
            return status;
        output_text(writer->out, comma);
        output_write(writer->out, text->bytes, text->used);
        comma = ", ";
    }
    return GAIT_OK;
}

int pt_devices_span(struct pt_devices *devices, struct pt_writer *writer,
                    const struct gait_event *event)
{
    const bool is_call = site_role(writer->trace, event->site) == ROLE_RUNTIME;
    const uint64_t link = link_of(writer, event);
    const uint64_t known = link ? number_map_get(&devices->launches, link) : 0;
    struct caller by = {known ? known - 1 : 0, event->track};
    struct slice name;
    if (is_call)
        by = caller_of(devices, writer, event);
    int status = is_call && link ? number_map_put(&devices->launches, link, by.op + 1) : GAIT_OK;
    if (!status)
        status = text_cache_get(&writer->spans, event->site, &name);
    if (status)
        return status;
    output_write(writer->out, name.bytes, name.count);
    writer->has_events = true;
    status = pt_writer_place(writer, by.track, event->start_ns);
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 40);
    put = PT_PUT(put, ", \"dur\": ");
    put = number_put_thousandths(put, pt_writer_length(writer, event));
    put = PT_PUT(put, ", \"args\": {");
    output_advance(writer->out, put);
    if (!status)
        status = write_args(writer, event, by.op);
    output_text(writer->out, "}}");
    if (!status && link && (is_call || known))
        status = write_arrow(writer, event, by.track, !is_call);
    return status;
}
