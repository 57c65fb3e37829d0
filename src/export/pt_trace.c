// SPDX-License-Identifier: Apache-2.0
// Ops and ranges are X with what torch knows of them, steps the ranges
// ProfilerStep#n, allocations [memory] instants; a forward op and its backward
// have a flow. Ops that torch marks as asynchronous stand on the thread that
// began them, as Kineto has it. Phases, flows and windows of gait's own have no
// place here: other formats hold them.
#include "export/pt_trace.h"

#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/fail.h"
#include "export/args_json.h"
#include "export/number_text.h"
#include "export/output_stream.h"
#include "export/pt_writer.h"

// What is asked of an op's arguments.
struct pt_about {
    int64_t seq, fwd_thread; // seq -1: none
    const char *shapes;
    size_t shapes_bytes;
    size_t others; // arguments that are none of these
};

// The engine's range around a node, until it is known which node that is.
struct pt_waiting {
    struct gait_event event; // without name and arguments
    uint64_t id, index;
};

struct pt_trace {
    struct pt_writer writer;
    size_t next_step;           // of the options' steps
    struct pt_waiting *waiting; // by track; id 0: none
};

enum pt_key { KEY_OTHER, KEY_SEQ, KEY_THREAD, KEY_SCOPE, KEY_SHAPES };

static enum pt_key key_of(const struct gait_arg *arg)
{
    const char *key = arg->key;
    if (!key || key[0] < 'f' || key[0] > 's')
        return KEY_OTHER;
    if (arg->kind == GAIT_ARG_TEXT)
        return strcmp(key, "shapes") ? KEY_OTHER : KEY_SHAPES;
    if (arg->kind != GAIT_ARG_INT)
        return KEY_OTHER;
    if (!strcmp(key, "seq"))
        return KEY_SEQ;
    if (!strcmp(key, "fwd_thread"))
        return KEY_THREAD;
    return strcmp(key, "scope") ? KEY_OTHER : KEY_SCOPE;
}

static struct pt_about about_of(const struct gait_event *event)
{
    struct pt_about about = {.seq = -1};
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct gait_arg *arg = &event->args[i];
        switch (key_of(arg)) {
        case KEY_SEQ:
            about.seq = arg->integer;
            break;
        case KEY_THREAD:
            about.fwd_thread = arg->integer;
            break;
        case KEY_SHAPES:
            about.shapes = arg->text;
            about.shapes_bytes = arg->text_bytes;
            break;
        case KEY_SCOPE:
            break;
        default:
            about.others++;
        }
    }
    return about;
}

// --- forward and backward -----------------------------------------------------------

static int write_flow(struct pt_writer *writer, const struct pt_link *link, bool is_end)
{
    pt_writer_begin(writer, is_end ? 'f' : 's');
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 16);
    put = PT_PUT(put, "\"id\": ");
    put = number_put_uint(put, link->id);
    put = PT_PUT(put, ", ");
    output_advance(writer->out, put);
    int status = pt_writer_place(writer, is_end ? link->backward_track : link->forward_track,
                                 is_end ? link->backward_ns : link->forward_ns);
    output_text(writer->out, ", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"");
    output_text(writer->out, is_end ? ", \"bp\": \"e\"}" : "}");
    return status;
}

static int settle(struct pt_writer *writer, uint32_t track, int64_t now_ns,
                  const struct pt_backward *op)
{
    struct pt_link link;
    if (!pt_links_settle(&writer->links, track, now_ns, op, &link))
        return GAIT_OK;
    int status = write_flow(writer, &link, false);
    return status ? status : write_flow(writer, &link, true);
}

static int follow(struct pt_writer *writer, const struct gait_event *event,
                  const struct pt_about *about)
{
    if (about->fwd_thread <= 0)
        return pt_links_forward(&writer->links, event->track, (uint64_t)about->seq,
                                event->start_ns);
    int64_t end_ns;
    if (event->duration_ns < 0 ||
        __builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns))
        end_ns = INT64_MAX;
    struct pt_backward op = {(uint64_t)about->fwd_thread, (uint64_t)about->seq, event->start_ns,
                             end_ns};
    int status = settle(writer, event->track, event->start_ns, &op);
    pt_links_backward(&writer->links, event->track, &op);
    return status;
}

// --- ops and ranges -----------------------------------------------------------------

// Arguments of a program's own, as they are.
static int write_others(struct pt_writer *writer, const struct gait_event *event)
{
    struct buffer *text = &writer->text;
    for (size_t i = 0; i < event->arg_count; i++) {
        if (key_of(&event->args[i]) != KEY_OTHER)
            continue;
        text->used = 0;
        int status = args_json_append(text, &event->args[i], 1);
        if (status)
            return status;
        output_text(writer->out, ", ");
        output_write(writer->out, text->bytes, text->used);
    }
    return GAIT_OK;
}

static void write_index_of(struct pt_writer *writer, uint64_t index)
{
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 16);
    put = PT_PUT(put, ", \"Ev Idx\": ");
    put = number_put_uint(put, index);
    put = PT_PUT(put, "}}");
    output_advance(writer->out, put);
}

static void write_index(struct pt_writer *writer)
{
    write_index_of(writer, writer->event_count++);
}

// What was never ended lasted as long as the capture did.
static int64_t length_of(const struct pt_writer *writer, const struct gait_event *event)
{
    int64_t length_ns = event->duration_ns;
    if (length_ns < 0 &&
        (__builtin_sub_overflow(writer->end_ns, event->start_ns, &length_ns) || length_ns < 0))
        return 0;
    return length_ns;
}

// From the start on to the number of the autograd node.
static void write_times(struct pt_writer *writer, const struct gait_event *event,
                        const struct pt_about *about, uint64_t id)
{
    char *put = output_reserve(writer->out, 8 * NUMBER_TEXT_MAX);
    put = pt_writer_put_time(writer, put, event->start_ns);
    put = PT_PUT(put, ", \"dur\": ");
    put = number_put_thousandths(put, length_of(writer, event));
    put = PT_PUT(put, ", \"args\": {\"External id\": ");
    put = number_put_uint(put, id);
    put = PT_PUT(put, ", \"Record function id\": 0");
    if (about->seq >= 0) {
        put = PT_PUT(put, ", \"Sequence number\": ");
        put = number_put_uint(put, (uint64_t)about->seq);
        put = PT_PUT(put, ", \"Fwd thread id\": ");
        put = number_put_int(put, about->fwd_thread);
    }
    if (event->duration_ns < 0)
        put = PT_PUT(put, ", \"finished\": false");
    output_advance(writer->out, put);
}

static int write_inputs(struct pt_writer *writer, const struct pt_about *about)
{
    struct slice inputs;
    int status = pt_inputs_get(&writer->inputs, about->shapes, about->shapes_bytes, &inputs);
    if (status)
        return status;
    output_write(writer->out, ", ", 2);
    output_write(writer->out, inputs.bytes, inputs.count);
    return GAIT_OK;
}

static int begin_place(struct pt_writer *writer, uint32_t site, uint32_t track)
{
    struct slice name, place;
    int status = text_cache_get(&writer->sites, site, &name);
    if (!status) {
        pt_writer_begin(writer, 'X');
        output_write(writer->out, name.bytes, name.count);
        status = text_cache_get(&writer->places, track, &place);
    }
    if (!status)
        output_write(writer->out, place.bytes, place.count);
    return status;
}

static int take_op(struct pt_writer *writer, const struct gait_event *event)
{
    struct pt_about about = about_of(event);
    int status = begin_place(writer, event->site, event->track);
    if (status)
        return status;
    write_times(writer, event, &about, ++writer->op_count);
    if (about.shapes)
        status = write_inputs(writer, &about);
    if (!status && about.others)
        status = write_others(writer, event);
    write_index(writer);
    if (!status && about.seq >= 0)
        status = follow(writer, event, &about);
    return status;
}

// --- the engine's ranges --------------------------------------------------------------

static bool is_around(struct pt_writer *writer, const struct pt_waiting *waiting,
                      const struct gait_event *node)
{
    struct gait_site_info info;
    int64_t end_ns;
    if (__builtin_add_overflow(waiting->event.start_ns, waiting->event.duration_ns, &end_ns))
        end_ns = INT64_MAX;
    return node && node->start_ns < end_ns &&
           gait_trace_site(writer->trace, waiting->event.site, &info) == 0 &&
           !strcmp(info.name + strlen(PT_EVALUATES), node->name);
}

// Torch gives such a range the number of the node that runs in it.
static int let_go(struct pt_trace *trace, struct pt_waiting *waiting, const struct gait_event *next)
{
    struct pt_writer *writer = &trace->writer;
    struct pt_about about = {.seq = -1};
    if (!waiting->id)
        return GAIT_OK;
    if (is_around(writer, waiting, next))
        about = about_of(next);
    int status = begin_place(writer, waiting->event.site, waiting->event.track);
    if (status)
        return status;
    write_times(writer, &waiting->event, &about, waiting->id);
    write_index_of(writer, waiting->index);
    waiting->id = 0;
    return GAIT_OK;
}

static int take_evaluation(struct pt_trace *trace, const struct gait_event *event)
{
    struct pt_writer *writer = &trace->writer;
    if (event->arg_count || event->duration_ns < 0)
        return take_op(writer, event); // it says all itself, or holds the rest up for ever
    trace->waiting[event->track] =
        (struct pt_waiting){*event, ++writer->op_count, writer->event_count++};
    return GAIT_OK;
}

// --- Python's functions ---------------------------------------------------------------

// Python's functions are numbered by those that record them.
static int take_python(struct pt_writer *writer, const struct gait_event *event)
{
    int status = begin_place(writer, event->site, event->track);
    if (status)
        return status;
    char *put = output_reserve(writer->out, 4 * NUMBER_TEXT_MAX);
    put = pt_writer_put_time(writer, put, event->start_ns);
    put = PT_PUT(put, ", \"dur\": ");
    put = number_put_thousandths(put, length_of(writer, event));
    put = PT_PUT(put, ", \"args\": {\"Python id\": ");
    put = number_put_uint(put, ++writer->op_count);
    output_advance(writer->out, put);
    status = write_others(writer, event);
    write_index(writer);
    return status;
}

static int take_span(struct pt_trace *trace, const struct gait_event *event)
{
    struct pt_writer *writer = &trace->writer;
    struct pt_waiting *waiting = &trace->waiting[event->track];
    int status = GAIT_OK;
    switch (pt_writer_class(writer, event->site)) {
    case PT_EVALUATE:
        status = let_go(trace, waiting, NULL);
        return status ? status : take_evaluation(trace, event);
    case PT_OP:
        status = let_go(trace, waiting, event);
        return status ? status : take_op(writer, event);
    case PT_ANNOTATION:
        return take_op(writer, event);
    case PT_PYTHON:
        return take_python(writer, event);
    default:
        return GAIT_OK;
    }
}

// --- ranges of no thread's own --------------------------------------------------------

static int write_async(struct pt_writer *writer, const struct gait_event *event, char phase,
                       int64_t time_ns)
{
    struct slice name;
    int status = text_cache_get(&writer->sites, event->site, &name);
    if (status)
        return status;
    pt_writer_begin(writer, phase);
    output_write(writer->out, name.bytes, name.count);
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 16);
    put = PT_PUT(put, "\"id\": ");
    put = number_put_uint(put, writer->async_count);
    put = PT_PUT(put, ", ");
    output_advance(writer->out, put);
    return pt_writer_place(writer, event->track, time_ns);
}

// What began and ended out of step with its thread's other ranges lies beside
// them; only torch's own such ops and ranges stand among them, as in Kineto's.
static int take_async(struct pt_trace *trace, const struct gait_event *event)
{
    struct pt_writer *writer = &trace->writer;
    enum pt_class class = pt_writer_class(writer, event->site);
    if (class == PT_OP || !strcmp(event->category, "user_annotation"))
        return take_op(writer, event);
    if (class != PT_ANNOTATION)
        return GAIT_OK;
    writer->async_count++;
    int status = write_async(writer, event, 'b', event->start_ns);
    output_text(writer->out, ", \"args\": {\"Record function id\": 0");
    if (!status)
        status = write_others(writer, event);
    write_index(writer);
    int64_t end_ns;
    if (__builtin_add_overflow(event->start_ns, length_of(writer, event), &end_ns))
        end_ns = INT64_MAX;
    if (!status)
        status = write_async(writer, event, 'e', end_ns);
    output_text(writer->out, "}");
    return status;
}

// --- steps --------------------------------------------------------------------------

struct step {
    uint64_t number;
    uint32_t track;
    int64_t start_ns, duration_ns;
};

static int write_step(struct pt_writer *writer, const struct step *step)
{
    struct gait_event event = {.start_ns = step->start_ns, .duration_ns = step->duration_ns};
    struct pt_about about = {.seq = -1};
    pt_writer_begin(writer, 'X');
    output_text(writer->out, "\"cat\": \"user_annotation\", \"name\": \"ProfilerStep#");
    char *put = output_reserve(writer->out, NUMBER_TEXT_MAX + 8);
    put = number_put_uint(put, step->number);
    put = PT_PUT(put, "\", ");
    output_advance(writer->out, put);
    struct slice place;
    int status = text_cache_get(&writer->places, step->track, &place);
    if (status)
        return status;
    output_write(writer->out, place.bytes, place.count);
    write_times(writer, &event, &about, ++writer->op_count);
    write_index(writer);
    return GAIT_OK;
}

// The caller's steps that begin up to now.
static int give_steps(struct pt_trace *trace, int64_t now_ns)
{
    struct pt_writer *writer = &trace->writer;
    const struct gait_export_options *options = writer->run->options;
    uint32_t track = options->step_track ? options->step_track - 1 : writer->first_thread;
    int status = GAIT_OK;
    while (!status && trace->next_step < options->step_count &&
           options->steps[trace->next_step].begin_ns <= now_ns) {
        const struct gait_export_step *given = &options->steps[trace->next_step++];
        struct step step = {given->number, track, given->begin_ns, -1};
        if (track >= writer->all_tracks)
            continue;
        status = pt_writer_name_track(writer, track);
        if (given->end_ns >= given->begin_ns)
            step.duration_ns = given->end_ns - given->begin_ns;
        if (!status)
            status = write_step(writer, &step);
    }
    return status;
}

static int take_step(struct pt_writer *writer, const struct gait_event *event)
{
    struct step step = {event->id, event->track, event->start_ns, event->duration_ns};
    if (writer->has_step_ranges || writer->run->options->steps)
        return GAIT_OK;
    return write_step(writer, &step);
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

static int take_memory(struct pt_writer *writer, const struct gait_event *event)
{
    int type, number;
    if (!event->value)
        return GAIT_OK; // the release of a block that nobody saw made: torch has none
    pt_writer_begin(writer, 'i');
    output_text(writer->out,
                "\"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", ");
    int status = begin_instant(writer, event->track, event->start_ns);
    find_device(event->name, &type, &number);
    char *put = output_reserve(writer->out, 512);
    if (!type)
        put = PT_PUT(put, "\"Total Reserved\": 0, ");
    if (event->arg_count) {
        put = PT_PUT(put, "\"Total Allocated\": ");
        put = number_put_int(put, event->args[0].integer);
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
    write_index(writer);
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
        status = write_others(writer, event);
    write_index(writer);
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
    put = number_put_thousandths(put, length_of(writer, event));
    put = PT_PUT(put, ", \"reason\": ");
    output_advance(writer->out, put);
    if (!status)
        status = pt_writer_quote(writer, event->name);
    write_index(writer);
    return status;
}

// --- all of it ----------------------------------------------------------------------

static int take_event(void *context, const struct gait_event *event)
{
    struct pt_trace *trace = context;
    struct pt_writer *writer = &trace->writer;
    int status = GAIT_OK;
    if (writer->run->options->steps)
        status = give_steps(trace, event->start_ns);
    if (!status && !writer->is_named[event->track])
        status = pt_writer_name_track(writer, event->track);
    if (status)
        return status;
    switch (event->kind) {
    case GAIT_KIND_SPAN:
        return take_span(trace, event);
    case GAIT_KIND_ASYNC:
        return take_async(trace, event);
    case GAIT_KIND_STEP:
        return take_step(writer, event);
    case GAIT_KIND_MEMORY:
        return take_memory(writer, event);
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
    struct pt_writer *writer = &trace->writer;
    struct export_pass pass = {.tracks = writer->tracks,
                               .track_count = writer->track_count,
                               .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_ASYNC |
                                        1u << GAIT_KIND_STEP | 1u << GAIT_KIND_MEMORY |
                                        1u << GAIT_KIND_MARK | 1u << GAIT_KIND_DROP,
                               .take = take_event,
                               .context = trace};
    int status = export_each_event_of(writer->run, &pass);
    for (uint32_t i = 0; i < writer->all_tracks && !status; i++) {
        status = let_go(trace, &trace->waiting[i], NULL);
        if (!status)
            status = settle(writer, i, INT64_MAX, NULL);
    }
    if (!status && writer->run->options->steps)
        status = give_steps(trace, INT64_MAX);
    return status;
}

int pt_trace_write(const struct export_run *run)
{
    struct pt_trace trace = {.next_step = 0};
    int status = pt_writer_init(&trace.writer, run);
    if (status)
        return status;
    trace.waiting = calloc((size_t)trace.writer.all_tracks + 1, sizeof(*trace.waiting));
    if (!trace.waiting)
        status = fail(GAIT_ERR_MEMORY, "no memory for %u tracks", trace.writer.all_tracks);
    if (!status)
        status = pt_writer_head(&trace.writer);
    if (!status)
        status = write_events(&trace);
    if (!status)
        status = pt_writer_tail(&trace.writer);
    free(trace.waiting);
    pt_writer_finish(&trace.writer);
    return status;
}
