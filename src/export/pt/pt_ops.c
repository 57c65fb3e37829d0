// SPDX-License-Identifier: Apache-2.0
#include "export/pt/pt_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "export/chrome/args_json.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "vocabulary/roles.h"

// What is asked of an op's arguments.
struct pt_about {
    int64_t seq, fwd_thread; // seq -1: none
    const char *shapes;
    size_t shapes_bytes;
    size_t others; // arguments that are none of these
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
int pt_ops_others(struct pt_writer *writer, const struct gait_event *event)
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

// From the start on to the number of the autograd node.
static void write_times(struct pt_writer *writer, const struct gait_event *event,
                        const struct pt_about *about, uint64_t id)
{
    char *put = output_reserve(writer->out, 8 * NUMBER_TEXT_MAX);
    put = pt_writer_put_time(writer, put, event->start_ns);
    put = PT_PUT(put, ", \"dur\": ");
    put = number_put_thousandths(put, pt_writer_length(writer, event));
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

// Up to the start: two texts that are mostly short, so they go in one piece.
static int begin_place(struct pt_writer *writer, uint32_t site, uint32_t track)
{
    struct slice name, place;
    int status = text_cache_get(&writer->spans, site, &name);
    if (!status)
        status = text_cache_get(&writer->places, track, &place);
    if (status)
        return status;
    if (name.count + place.count > OUTPUT_RESERVE_MAX) {
        output_write(writer->out, name.bytes, name.count);
        output_write(writer->out, place.bytes, place.count);
        return GAIT_OK;
    }
    char *put = output_reserve(writer->out, name.count + place.count);
    memcpy(put, name.bytes, name.count);
    memcpy(put + name.count, place.bytes, place.count);
    output_advance(writer->out, put + name.count + place.count);
    return GAIT_OK;
}

static int take_op(struct pt_ops *ops, const struct gait_event *event)
{
    struct pt_writer *writer = &ops->writer;
    struct pt_about about = about_of(event);
    int status = begin_place(writer, event->site, event->track);
    if (status)
        return status;
    write_times(writer, event, &about, ++writer->op_count);
    if (writer->has_devices && event->kind == GAIT_KIND_SPAN)
        status = pt_devices_op(&ops->devices, event, writer->op_count);
    if (!status && about.shapes)
        status = write_inputs(writer, &about);
    if (!status && about.others)
        status = pt_ops_others(writer, event);
    pt_writer_index(writer);
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
static int let_go(struct pt_ops *ops, struct pt_waiting *waiting, const struct gait_event *next)
{
    struct pt_writer *writer = &ops->writer;
    struct pt_about about = {.seq = -1};
    if (!waiting->id)
        return GAIT_OK;
    if (is_around(writer, waiting, next))
        about = about_of(next);
    int status = begin_place(writer, waiting->event.site, waiting->event.track);
    if (status)
        return status;
    write_times(writer, &waiting->event, &about, waiting->id);
    pt_writer_index_of(writer, waiting->index);
    waiting->id = 0;
    return GAIT_OK;
}

static int take_evaluation(struct pt_ops *ops, const struct gait_event *event)
{
    struct pt_writer *writer = &ops->writer;
    if (event->arg_count || event->duration_ns < 0)
        return take_op(ops, event); // it says all itself, or holds the rest up for ever
    ops->waiting[event->track] =
        (struct pt_waiting){*event, ++writer->op_count, writer->event_count++};
    return writer->has_devices ? pt_devices_op(&ops->devices, event, writer->op_count) : GAIT_OK;
}

// --- Python's functions ---------------------------------------------------------------

static char *put_module(char *put, const char *name)
{
    const char *number = strncmp(name, PT_MODULE, strlen(PT_MODULE)) ? NULL : strrchr(name, '_');
    if (!number)
        return put;
    put = PT_PUT(put, ", \"Python module id\": ");
    return number_put_uint(put, strtoull(number + 1, NULL, 10));
}

// Numbered in order of begin, as Kineto's.
static int take_python(struct pt_ops *ops, const struct gait_event *event)
{
    struct pt_writer *writer = &ops->writer;
    const int64_t length_ns = pt_writer_length(writer, event);
    struct pt_function function = {.start_ns = event->start_ns, .end_ns = INT64_MAX};
    (void)__builtin_add_overflow(event->start_ns, length_ns, &function.end_ns);
    int status = pt_functions_begin(&ops->functions, event->track, &function);
    if (!status)
        status = begin_place(writer, event->site, event->track);
    if (status)
        return status;
    char *put = output_reserve(writer->out, 8 * NUMBER_TEXT_MAX);
    put = pt_writer_put_time(writer, put, event->start_ns);
    put = PT_PUT(put, ", \"dur\": ");
    put = number_put_thousandths(put, length_ns);
    put = PT_PUT(put, ", \"args\": {\"Python thread\": ");
    put = number_put_uint(put, function.thread);
    put = PT_PUT(put, ", \"Python parent id\": ");
    put = function.parent ? number_put_uint(put, function.parent) : PT_PUT(put, "null");
    put = PT_PUT(put, ", \"Python id\": ");
    put = number_put_uint(put, function.id);
    put = put_module(put, event->name);
    output_advance(writer->out, put);
    status = pt_ops_others(writer, event);
    pt_writer_index(writer);
    return status;
}

int pt_ops_span(struct pt_ops *ops, const struct gait_event *event)
{
    struct pt_writer *writer = &ops->writer;
    struct pt_waiting *waiting = &ops->waiting[event->track];
    int status = GAIT_OK;
    switch (pt_writer_class(writer, event->site)) {
    case PT_EVALUATE:
        status = let_go(ops, waiting, NULL);
        return status ? status : take_evaluation(ops, event);
    case PT_OP:
        status = let_go(ops, waiting, event);
        return status ? status : take_op(ops, event);
    case PT_ANNOTATION:
        return take_op(ops, event);
    case PT_PYTHON:
        return take_python(ops, event);
    case PT_DEVICE:
        return pt_devices_span(&ops->devices, writer, event);
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
int pt_ops_async(struct pt_ops *ops, const struct gait_event *event)
{
    struct pt_writer *writer = &ops->writer;
    enum pt_class class = pt_writer_class(writer, event->site);
    if (class == PT_OP || !strcmp(event->category, role_category(ROLE_ANNOTATION)))
        return take_op(ops, event);
    if (class == PT_PYTHON) // crosses ranges that begin in it and end elsewhere
        return take_python(ops, event);
    if (class != PT_ANNOTATION)
        return GAIT_OK;
    writer->async_count++;
    int status = write_async(writer, event, 'b', event->start_ns);
    output_text(writer->out, ", \"args\": {\"Record function id\": 0");
    if (!status)
        status = pt_ops_others(writer, event);
    pt_writer_index(writer);
    int64_t end_ns;
    if (__builtin_add_overflow(event->start_ns, pt_writer_length(writer, event), &end_ns))
        end_ns = INT64_MAX;
    if (!status)
        status = write_async(writer, event, 'e', end_ns);
    output_text(writer->out, "}");
    return status;
}

// --- steps ----------------------------------------------------------------------------

int pt_ops_step(struct pt_ops *ops, const struct pt_step *step)
{
    struct pt_writer *writer = &ops->writer;
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
    pt_writer_index(writer);
    return GAIT_OK;
}

// --- begin and end ----------------------------------------------------------------------

int pt_ops_init(struct pt_ops *ops, const struct export_run *run)
{
    ops->waiting = NULL;
    ops->functions = (struct pt_functions){.tracks = NULL};
    int status = pt_writer_init(&ops->writer, run);
    if (status)
        return status;
    status = pt_devices_init(&ops->devices, ops->writer.all_tracks);
    if (!status)
        status = pt_functions_init(&ops->functions, ops->writer.all_tracks);
    if (status) {
        pt_devices_finish(&ops->devices);
        pt_writer_finish(&ops->writer);
        return status;
    }
    ops->waiting = calloc((size_t)ops->writer.all_tracks + 1, sizeof(*ops->waiting));
    if (ops->waiting)
        return GAIT_OK;
    pt_functions_finish(&ops->functions);
    pt_devices_finish(&ops->devices);
    pt_writer_finish(&ops->writer);
    return fail(GAIT_ERR_MEMORY, "no memory for %u tracks", ops->writer.all_tracks);
}

void pt_ops_finish(struct pt_ops *ops)
{
    free(ops->waiting);
    ops->waiting = NULL;
    pt_functions_finish(&ops->functions);
    pt_devices_finish(&ops->devices);
    pt_writer_finish(&ops->writer);
}

int pt_ops_end(struct pt_ops *ops)
{
    int status = GAIT_OK;
    for (uint32_t i = 0; i < ops->writer.all_tracks && !status; i++) {
        status = let_go(ops, &ops->waiting[i], NULL);
        if (!status)
            status = settle(&ops->writer, i, INT64_MAX, NULL);
    }
    return status;
}
