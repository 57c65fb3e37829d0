// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/hta_streams.h"

#include <stdlib.h>

#include "answer/compat/compat_hta.h"
#include "base/fail.h"

// --- streams ---------------------------------------------------------------------------

static const char *const idle_names[] = {
    [HTA_HOST_WAIT] = "host_wait", [HTA_KERNEL_WAIT] = "kernel_wait", [HTA_IDLE_OTHER] = "other"};

static void put_idle_sums(struct sheet *sheet, const struct hta_streams *streams, int64_t rank)
{
    static const struct column columns[] = {{.key = "idle_category"},
                                            {.key = "idle_time"},
                                            {.key = "stream"},
                                            {.key = "idle_time_ratio"},
                                            {.key = "rank"}};
    static const struct table table = {.key = "breakdown", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < streams->count; i++) {
        const struct hta_stream *stream = &streams->streams[i];
        int64_t sum = 0;
        for (unsigned kind = 0; kind < HTA_IDLES; kind++)
            sum += stream->idle_us[kind];
        for (unsigned kind = 0; kind < HTA_IDLES && stream->has_kernels; kind++) {
            const struct value cells[] = {
                value_text(idle_names[kind]), value_int(stream->idle_us[kind]),
                value_int(stream->stream), rounded((double)stream->idle_us[kind] / (double)sum, 2),
                value_int(rank)};
            if (stream->has_idle[kind])
                sheet_row(sheet, cells, 0);
        }
    }
    sheet_end(sheet);
}

static void put_idle_stats(struct sheet *sheet, const struct hta_streams *streams, int64_t rank)
{
    static const struct column columns[] = {
        {.key = "rank"}, {.key = "idle_category"}, {.key = "stream"}, {.key = "count"},
        {.key = "mean"}, {.key = "std"},           {.key = "min"},    {.key = "25%"},
        {.key = "50%"},  {.key = "75%"},           {.key = "max"}};
    static const struct table table = {.key = "interval_stats", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < streams->count; i++)
        for (unsigned kind = 0; kind < HTA_IDLES; kind++) {
            const struct hta_stream *stream = &streams->streams[i];
            const struct stats *stats = &stream->idle[kind];
            if (!stream->has_kernels || !stream->has_idle[kind])
                continue;
            const struct value cells[] = {
                value_int(rank),           value_text(idle_names[kind]),
                value_int(stream->stream), value_uint(stats->count),
                rounded(stats->mean, 2),   rounded(stats->deviation, 2),
                rounded(stats->least, 2),  rounded(stats->quarter, 2),
                rounded(stats->middle, 2), rounded(stats->three_quarters, 2),
                rounded(stats->most, 2),
            };
            sheet_row(sheet, cells, 0);
        }
    sheet_end(sheet);
}

static void put_idle(struct sheet *sheet, const struct hta_streams *streams, int64_t rank)
{
    bool has_kernels = false;
    for (size_t i = 0; i < streams->count; i++)
        has_kernels |= streams->streams[i].has_kernels;
    open_number(sheet, rank);
    if (!has_kernels)
        sheet_put(sheet, "error",
                  value_text("ValueError: No objects to concatenate "
                             "(concat.py:_clean_keys_and_objs)"));
    else {
        put_idle_sums(sheet, streams, rank);
        put_idle_stats(sheet, streams, rank);
    }
    sheet_end(sheet);
}

// What pandas' describe() says, the keys with `prefix` before each.
#define DESCRIBED(prefix)                                                                          \
    {.key = prefix "count"}, {.key = prefix "mean"}, {.key = prefix "std"}, {.key = prefix "min"}, \
        {.key = prefix "25%"}, {.key = prefix "50%"}, {.key = prefix "75%"},                       \
    {                                                                                              \
        .key = prefix "max"                                                                        \
    }

#define DESCRIBE(stats)                                                                            \
    value_uint((stats)->count), real((stats)->mean), real((stats)->deviation),                     \
        real((stats)->least), real((stats)->quarter), real((stats)->middle),                       \
        real((stats)->three_quarters), real((stats)->most)

static void put_queues(struct sheet *sheet, const struct hta_run *run,
                       const struct hta_streams *streams)
{
    static const struct column columns[] = {
        {.key = "rank"}, {.key = "stream"}, DESCRIBED("queue_length_")};
    static const struct table table = {.key = "queue_length_summary", COLUMNS_ARE(columns)};
    bool is_open = false;
    for (size_t i = 0; i < run->count; i++)
        if (streams[i].queue_fails) {
            sheet_object(sheet, "queue_length_summary");
            sheet_put(sheet, "error",
                      value_text("AssertionError:  "
                                 "(trace_counters.py:_get_queue_length_time_series_for_rank)"));
            sheet_end(sheet);
            return;
        }
    for (size_t i = 0; i < run->count; i++)
        for (size_t at = 0; at < streams[i].count; at++) {
            const struct hta_stream *stream = &streams[i].streams[at];
            if (!stream->has_queue)
                continue;
            if (!is_open)
                sheet_table(sheet, &table);
            is_open = true;
            const struct value cells[] = {value_int(run->ranks[i].rank), value_int(stream->stream),
                                          DESCRIBE(&stream->queue)};
            sheet_row(sheet, cells, 0);
        }
    if (is_open)
        sheet_end(sheet);
    else
        sheet_put(sheet, "queue_length_summary", value_none());
}

static void put_bandwidths(struct sheet *sheet, const struct hta_run *run,
                           const struct hta_streams *streams)
{
    static const struct column columns[] = {
        {.key = "rank"}, {.key = "name"}, DESCRIBED("memory_bw_gbps_")};
    static const struct table table = {.key = "memory_bw_summary", COLUMNS_ARE(columns)};
    bool has_copies = false;
    for (size_t i = 0; i < run->count; i++)
        has_copies |= streams[i].has_copies;
    if (!has_copies) {
        sheet_put(sheet, "memory_bw_summary", value_none());
        return;
    }
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count; i++)
        for (size_t at = 0; at < streams[i].copy_count; at++) {
            const struct hta_copies *copies = &streams[i].copies[at];
            const struct value cells[] = {value_int(run->ranks[i].rank), value_text(copies->name),
                                          DESCRIBE(&copies->bandwidth)};
            sheet_row(sheet, cells, 0);
        }
    sheet_end(sheet);
}

static void put_duration(struct sheet *sheet, const char *key, const struct stats *stats,
                         double p99)
{
    sheet_object(sheet, key);
    if (stats->count) {
        sheet_put(sheet, "sum", value_int((int64_t)stats->sum));
        sheet_put(sheet, "min", real(stats->least));
        sheet_put(sheet, "max", real(stats->most));
        sheet_put(sheet, "p50", real(stats->middle));
        sheet_put(sheet, "p99", real(p99));
    }
    sheet_end(sheet);
}

static void put_launches(struct sheet *sheet, const struct hta_run *run,
                         const struct hta_streams *streams, bool with_memory)
{
    sheet_object(sheet, with_memory ? "include_memory_events=True" : "include_memory_events=False");
    for (size_t i = 0; i < run->count; i++) {
        const struct hta_launches *sum =
            with_memory ? &streams[i].with_memory : &streams[i].launches;
        open_number(sheet, run->ranks[i].rank);
        sheet_put(sheet, "rows", value_uint(sum->count));
        put_duration(sheet, "cpu_duration_us", &sum->host, sum->host_p99);
        put_duration(sheet, "gpu_duration_us", &sum->device, sum->device_p99);
        put_duration(sheet, "launch_delay_us", &sum->delay, sum->delay_p99);
        sheet_put(sheet, "runtime_outliers(cpu>50us)", value_uint(sum->long_host));
        sheet_put(sheet, "launch_delay_outliers(delay>100us)", value_uint(sum->long_delay));
        sheet_put(sheet, "short_kernels(gpu<cpu)", value_uint(sum->short_kernels));
        sheet_put(sheet, "short_kernels_plotted(cpu<=50 and gpu<cpu)",
                  value_uint(sum->short_plotted));
        sheet_end(sheet);
    }
    sheet_end(sheet);
}

int compat_put_hta_streams(struct sheet *sheet, const struct hta_run *run)
{
    struct hta_streams *streams = calloc(run->count + 1, sizeof *streams);
    int status = streams ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", run->count);
    for (size_t i = 0; i < run->count && !status; i++)
        status = hta_streams_make(&streams[i], &run->ranks[i]);
    if (!status) {
        sheet_object(sheet, "idle_time_breakdown");
        for (size_t i = 0; i < run->count; i++)
            put_idle(sheet, &streams[i], run->ranks[i].rank);
        sheet_end(sheet);
        put_queues(sheet, run, streams);
        put_bandwidths(sheet, run, streams);
        sheet_object(sheet, "cuda_kernel_launch_stats");
        put_launches(sheet, run, streams, false);
        put_launches(sheet, run, streams, true);
        sheet_end(sheet);
    }
    for (size_t i = 0; i < run->count && streams; i++)
        hta_streams_finish(&streams[i]);
    free(streams);
    return status;
}
