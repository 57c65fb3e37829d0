// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/chrome_foreign.h"

#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/json_reader.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "export/chrome/args_json.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "vocabulary/metadata.h"

#define FACT "trace."
#define OF_END "gait.end."
#define MOST_AGAIN (UINT64_C(1) << 30) // bytes; a shard says how often each name stands
#define MAX_TEXT_BYTES ((size_t)1 << 30)

struct foreign_writer {
    struct gait_trace *trace;
    struct output_stream *out;
    struct buffer text; // one event
    int64_t base_ns;
    bool has_events;
};

static int64_t base_of(const struct gait_trace *trace, uint32_t shard)
{
    return json_integer(gait_trace_metadata(trace, shard, meta.import_base_ns), 0);
}

bool chrome_foreign_is(struct gait_trace *trace)
{
    const char *first = gait_trace_metadata(trace, 0, meta.source);
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *source = gait_trace_metadata(trace, i, meta.source);
        if (!source || strcmp(source, first) != 0 || base_of(trace, i) != base_of(trace, 0))
            return false;
    }
    return first && gait_trace_metadata(trace, 0, meta.import);
}

// The field of that name, where the file said more than a column holds.
static const struct gait_arg *field_of(const struct gait_event *event, const char *name)
{
    for (size_t i = 0; i < event->field_count; i++)
        if (!strcmp(event->fields[i].key, name))
            return &event->fields[i];
    return NULL;
}

static bool is_absent(const struct gait_arg *field)
{
    return field->kind == GAIT_ARG_JSON && field->text_bytes == 5 &&
           memcmp(field->text, "false", 5) == 0;
}

// `,"name":` and the field if there is one: 1; else 0, and the caller says the column.
static int put_field(struct foreign_writer *writer, const struct gait_event *event,
                     const char *name)
{
    const struct gait_arg *field = field_of(event, name);
    if (!field || is_absent(field))
        return field ? 1 : 0;
    int status = buffer_append(&writer->text, ",", 1);
    if (!status)
        status = args_json_append(&writer->text, field, 1);
    return status ? status : 1;
}

static int put_text(struct foreign_writer *writer, const char *name, const char *value)
{
    int status = buffer_printf(&writer->text, ",\"%s\":", name);
    return status ? status : utf8_append_json(&writer->text, value, strlen(value));
}

static int put_name(struct foreign_writer *writer, const struct gait_event *event, const char *name,
                    const char *value)
{
    const int status = put_field(writer, event, name);
    if (status)
        return status < 0 ? status : 0;
    return *value ? put_text(writer, name, value) : 0;
}

// A number of a process or a thread as JSON: a number where it is one.
static int put_place(struct foreign_writer *writer, const struct gait_event *event,
                     const char *name, const char *key)
{
    const int status = put_field(writer, event, name);
    if (status)
        return status < 0 ? status : 0;
    if (number_is_json(key, strlen(key)))
        return buffer_printf(&writer->text, ",\"%s\":%s", name, key);
    return put_text(writer, name, key);
}

static int put_time(struct foreign_writer *writer, const struct gait_event *event, const char *name,
                    int64_t ns)
{
    char digits[NUMBER_TEXT_MAX + 1];
    const int status = put_field(writer, event, name);
    if (status)
        return status < 0 ? status : 0;
    *number_put_thousandths(digits, ns) = '\0';
    return buffer_printf(&writer->text, ",\"%s\":%s", name, digits);
}

static int put_id(struct foreign_writer *writer, const struct gait_event *event)
{
    const int status = put_field(writer, event, "id");
    if (status)
        return status < 0 ? status : 0;
    return buffer_printf(&writer->text, ",\"id\":%llu", (unsigned long long)event->id);
}

static bool has_column(const struct gait_event *event, const char *key)
{
    static const char *const known[] = {"ph",  "cat", "name",           "pid", "tid", "ts",
                                        "dur", "id",  "gait.unfinished"};
    bool is_known = false;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        is_known |= !strcmp(key, known[k]);
    return is_known && (strcmp(key, "dur") != 0 || event->kind == GAIT_KIND_SPAN) &&
           (strcmp(key, "id") != 0 || event->kind == GAIT_KIND_FLOW ||
            event->kind == GAIT_KIND_ASYNC);
}

// Fields that no column stands for. Those of a span's end are told by their names.
static int put_others(struct foreign_writer *writer, const struct gait_event *event, bool is_end)
{
    int status = 0;
    for (size_t i = 0; i < event->field_count && !status; i++) {
        struct gait_arg field = event->fields[i];
        const bool is_of_end = !strncmp(field.key, OF_END, strlen(OF_END));
        if (is_of_end != is_end || has_column(event, field.key) || is_absent(&field))
            continue;
        field.key += is_of_end ? strlen(OF_END) : 0;
        status = buffer_append(&writer->text, ",", 1);
        if (!status)
            status = args_json_append(&writer->text, &field, 1);
    }
    return status;
}

static int put_args(struct foreign_writer *writer, const struct gait_event *event)
{
    if (!event->arg_count)
        return 0;
    int status = buffer_printf(&writer->text, ",\"args\":{");
    if (!status)
        status = args_json_append(&writer->text, event->args, event->arg_count);
    return status ? status : buffer_append(&writer->text, "}", 1);
}

static char phase_of(const struct gait_event *event)
{
    static const char phases[GAIT_KIND_COUNT] = {
        [GAIT_KIND_SPAN] = 'X', [GAIT_KIND_COUNTER] = 'C', [GAIT_KIND_ASYNC] = 'b'};
    const struct gait_arg *field = field_of(event, "ph");
    if (field && field->text && field->text_bytes)
        return field->text[0];
    if (event->kind == GAIT_KIND_FLOW)
        return "stf"[(unsigned)event->phase % 3];
    return phases[event->kind] ? phases[event->kind] : 'i';
}

static int put_event(struct foreign_writer *writer, const struct gait_event *event, char phase,
                     int64_t time_ns, bool is_end)
{
    struct gait_track_info track, process;
    int status = gait_trace_track(writer->trace, event->track, &track);
    if (status)
        return status;
    process = track;
    if (track.parent != GAIT_NO_TRACK)
        status = gait_trace_track(writer->trace, track.parent, &process);
    writer->text.used = 0;
    if (!status)
        status = buffer_printf(&writer->text, "%s{\"ph\":\"%c\"", writer->has_events ? ",\n" : "\n",
                               phase);
    writer->has_events = true;
    if (!status)
        status = put_name(writer, event, "cat", event->category);
    if (!status)
        status = put_name(writer, event, "name", event->name);
    if (!status)
        status = put_place(writer, event, "pid", process.key);
    if (!status)
        status = put_place(writer, event, "tid", track.key);
    if (!status)
        status = put_time(writer, event, "ts", time_ns - writer->base_ns);
    if (!status && event->kind == GAIT_KIND_SPAN && phase == 'X')
        status = put_time(writer, event, "dur", event->duration_ns);
    if (!status && (event->kind == GAIT_KIND_FLOW || event->kind == GAIT_KIND_ASYNC))
        status = put_id(writer, event);
    if (!status)
        status = put_others(writer, event, is_end);
    if (!status && !is_end)
        status = put_args(writer, event);
    if (!status)
        status = buffer_append(&writer->text, "}", 1);
    if (!status)
        output_write(writer->out, writer->text.bytes, writer->text.used);
    return status;
}

static int take_event(void *context, const struct gait_event *event)
{
    struct foreign_writer *writer = context;
    if (field_of(event, "gait.echo")) // another series of a counter that was told whole
        return 0;
    const char phase = phase_of(event);
    const int64_t end_ns = event->start_ns + (event->duration_ns > 0 ? event->duration_ns : 0);
    const char end = phase == 'B' ? 'E' : phase == 'b' ? 'e' : phase == 'S' ? 'F' : '\0';
    int status = put_event(writer, event, phase, event->start_ns, false);
    if (!status && end && event->duration_ns >= 0 && !field_of(event, "gait.unfinished"))
        status = put_event(writer, event, end, end_ns, true);
    return status;
}

// What the file said beside its events.
static int write_facts(struct foreign_writer *writer)
{
    const char *key;
    int status = 0;
    output_text(writer->out, "{\n");
    for (uint32_t i = 0; (key = gait_trace_metadata_key(writer->trace, 0, i)) && !status; i++) {
        const char *json = gait_trace_metadata(writer->trace, 0, key);
        if (strncmp(key, FACT, strlen(FACT)) != 0 || !json || !json_is_valid(slice_of(json)))
            continue;
        writer->text.used = 0;
        status = utf8_append_json(&writer->text, key + strlen(FACT), strlen(key) - strlen(FACT));
        output_write(writer->out, writer->text.bytes, writer->text.used);
        output_text(writer->out, ": ");
        output_text(writer->out, json);
        output_text(writer->out, ",\n");
    }
    return status;
}

// The next object of the list that was entered.
static bool next_object(struct json_reader *list, struct slice *ret_object)
{
    struct json_token token;
    if (json_next(list, &token) != JSON_OBJECT)
        return false;
    const uint8_t *const begin = list->left.bytes - 1;
    while (list->depth > 1)
        (void)json_next(list, &token);
    *ret_object = (struct slice){begin, (size_t)(list->left.bytes - begin)};
    return list->depth == 1;
}

// Events that name processes and threads stand in the metadata as they were, each once.
static void write_names(struct foreign_writer *writer)
{
    const char *json = gait_trace_metadata(writer->trace, 0, meta.trace_names);
    const char *counts_json = gait_trace_metadata(writer->trace, 0, meta.trace_name_counts);
    struct json_reader list = json_reader_of(slice_of(json ? json : ""));
    struct json_reader counts = json_reader_of(slice_of(counts_json ? counts_json : ""));
    struct json_token token;
    struct slice object;
    uint64_t left = MOST_AGAIN;
    const bool is_list =
        json && json_is_valid(slice_of(json)) && json_next(&list, &token) == JSON_ARRAY;
    const bool has_counts = json_next(&counts, &token) == JSON_ARRAY;
    while (is_list && next_object(&list, &object)) {
        const bool is_told = has_counts && json_next(&counts, &token) == JSON_NUMBER;
        const uint64_t bytes = object.count + sizeof ",\n" - 1;
        uint64_t again = is_told ? strtoull((const char *)token.text.bytes, NULL, 10) : 1;
        again -= again > 0; // it stands there once in any case
        again = again < left / bytes ? again : left / bytes;
        left -= again * bytes;
        for (uint64_t times = again + 1; times; times--) {
            output_text(writer->out, writer->has_events ? ",\n" : "\n");
            output_write(writer->out, object.bytes, object.count);
            writer->has_events = true;
        }
    }
}

int chrome_foreign_write(const struct export_run *run)
{
    struct foreign_writer writer = {
        .trace = run->trace, .out = run->out, .base_ns = base_of(run->trace, 0)};
    buffer_init(&writer.text, MAX_TEXT_BYTES);
    int status = write_facts(&writer);
    output_text(run->out, "\"traceEvents\": [");
    write_names(&writer);
    if (!status)
        status = export_each_event(run, take_event, &writer);
    output_text(run->out, "\n]}\n");
    buffer_finish(&writer.text);
    return status;
}
