// SPDX-License-Identifier: Apache-2.0
// kind,category,name,rank,pid,tid,start_ns,duration_ns,id,value,args. A field
// that does not apply is empty; so is the duration of what was still open.
// Numbers of processes and threads are those of their system: rows tell two
// hosts apart by rank.
#include "export/csv_rows.h"

#include <string.h>

#include <gait/trace.h>

#include "base/buffer.h"
#include "base/csv/csv_field.h"
#include "export/exporter.h"
#include "export/number_text.h"
#include "export/output/output_stream.h"
#include "export/row_shape.h"
#include "export/text_cache.h"

#define MAX_FIELD_BYTES ((size_t)1 << 30)

static const char header[] =
    "kind,category,name,rank,pid,tid,start_ns,duration_ns,id,value,args\r\n";

struct csv_writer {
    struct gait_trace *trace;
    struct output_stream *out;
    struct text_cache names;  // "category,name," by site
    struct text_cache places; // "rank,pid,tid," by track
    struct buffer text, field;
};

static int append_field_and_comma(struct buffer *out, const char *text)
{
    int status = csv_field_append(out, text, strlen(text));
    return status ? status : buffer_append(out, ",", 1);
}

static int make_names(void *context, uint32_t site, struct buffer *out)
{
    const struct csv_writer *csv = context;
    struct gait_site_info info;
    int status = gait_trace_site(csv->trace, site, &info);
    if (!status)
        status = append_field_and_comma(out, info.category);
    return status ? status : append_field_and_comma(out, info.name);
}

static int make_place(void *context, uint32_t track, struct buffer *out)
{
    const struct csv_writer *csv = context;
    struct gait_track_info info;
    struct gait_shard_info shard;
    int status = gait_trace_track(csv->trace, track, &info);
    if (!status)
        status = gait_trace_shard(csv->trace, info.shard, &shard);
    if (!status && shard.rank >= 0)
        status = buffer_printf(out, "%lld", (long long)shard.rank);
    if (!status)
        status = buffer_printf(out, ",%lld,", (long long)shard.pid);
    if (status)
        return status;
    // streams and counters have no thread; their key says which one it was
    if (info.kind != GAIT_TRACK_THREAD || !info.tid)
        return append_field_and_comma(out, info.key);
    return buffer_printf(out, "%lld,", (long long)info.tid);
}

static void write_slice(struct output_stream *out, struct slice text)
{
    if (text.count)
        output_write(out, text.bytes, text.count);
}

static int write_names(struct csv_writer *csv, const struct row_shape *shape,
                       const struct gait_event *event)
{
    struct slice names;
    int status = GAIT_OK;
    if (shape->has_site && event->site != GAIT_NO_SITE) {
        status = text_cache_get(&csv->names, event->site, &names);
    } else {
        csv->text.used = 0;
        status = append_field_and_comma(&csv->text, event->category);
        if (!status)
            status = append_field_and_comma(&csv->text, event->name);
        names = (struct slice){csv->text.bytes, csv->text.used};
    }
    if (!status)
        write_slice(csv->out, names);
    return status;
}

static void write_numbers(struct csv_writer *csv, const struct row_shape *shape,
                          const struct gait_event *event)
{
    char *put = output_reserve(csv->out, 4 * NUMBER_TEXT_MAX);
    put = number_put_int(put, event->start_ns);
    *put++ = ',';
    if (shape->has_duration && event->duration_ns >= 0)
        put = number_put_int(put, event->duration_ns);
    *put++ = ',';
    if (shape->has_id)
        put = number_put_uint(put, event->id);
    *put++ = ',';
    if (shape->has_value && event->is_real)
        put = number_put_real(put, event->real);
    else if (shape->has_value)
        put = number_put_int(put, event->value);
    *put++ = ',';
    output_advance(csv->out, put);
}

static int write_args(struct csv_writer *csv, const struct gait_event *event)
{
    struct buffer *text = &csv->text, *field = &csv->field;
    field->used = 0;
    int status = row_shape_args(event, text);
    if (!status && text->used)
        status = csv_field_append(field, (const char *)text->bytes, text->used);
    if (!status && field->used)
        output_write(csv->out, field->bytes, field->used);
    return status;
}

static int write_row(void *context, const struct gait_event *event)
{
    struct csv_writer *csv = context;
    if ((unsigned)event->kind >= GAIT_KIND_COUNT)
        return GAIT_OK;
    const struct row_shape *shape = &row_shapes[event->kind];
    struct slice place;
    int status = text_cache_get(&csv->places, event->track, &place);
    if (status)
        return status;
    output_text(csv->out, shape->kind);
    output_write(csv->out, ",", 1);
    status = write_names(csv, shape, event);
    if (status)
        return status;
    write_slice(csv->out, place);
    write_numbers(csv, shape, event);
    status = write_args(csv, event);
    output_write(csv->out, "\r\n", 2);
    return status;
}

int csv_rows_write(const struct export_run *run)
{
    struct csv_writer csv = {.trace = run->trace, .out = run->out};
    text_cache_init(&csv.names, make_names, &csv);
    text_cache_init(&csv.places, make_place, &csv);
    buffer_init(&csv.text, MAX_FIELD_BYTES);
    buffer_init(&csv.field, MAX_FIELD_BYTES);
    output_write(run->out, header, sizeof(header) - 1);
    int status = export_each_event(run, write_row, &csv);
    buffer_finish(&csv.field);
    buffer_finish(&csv.text);
    text_cache_finish(&csv.places);
    text_cache_finish(&csv.names);
    return status;
}
