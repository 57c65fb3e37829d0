// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/hta_streams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compat/keyed_rows.h"
#include "analyse/time/lower_bound.h"
#include "base/fail.h"

enum { KERNEL_WAIT_US = 30, LONG_CALL_US = 50, LONG_DELAY_US = 100 };

struct making {
    struct hta_streams *streams;
    const struct hta_rank *rank;
    struct keyed_rows calls;   // of the host with a correlation, by it
    struct keyed_rows device;  // of the device with a correlation, by it
    struct keyed_rows kernels; // of the device, by their stream
    double *values;            // room for three for each row
};

static const struct hta_row *row_of(const struct making *making, const struct keyed *keyed)
{
    return &making->rank->rows[keyed->at];
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

// --- idle ------------------------------------------------------------------------------

// When it was launched. Where the call is missing, the tool takes the first row of the file
// for it; without a correlation it knows nothing.
static int64_t launched_us(const struct making *making, const struct foreign_row *row)
{
    const size_t at = keyed_rows_find(&making->calls, row->correlation);
    if (row->correlation == FOREIGN_NONE)
        return INT64_MIN;
    return at == KEYED_NONE ? making->rank->first_call_us : making->rank->rows[at].start_us;
}

// A gap is one from the row before, not from the latest end.
static void find_idle(const struct making *making, struct hta_stream *stream,
                      const struct keyed *rows, size_t count)
{
    const size_t room = making->rank->count + 1;
    size_t counts[HTA_IDLES] = {0};
    for (size_t i = 1; i < count; i++) {
        const struct hta_row *row = row_of(making, &rows[i]);
        const int64_t before_us = row_of(making, &rows[i - 1])->end_us,
                      gap_us = row->start_us - before_us;
        const enum hta_idle kind = launched_us(making, row->row) > before_us ? HTA_HOST_WAIT
                                   : gap_us < KERNEL_WAIT_US                 ? HTA_KERNEL_WAIT
                                                                             : HTA_IDLE_OTHER;
        stream->idle_us[kind] += gap_us;
        making->values[kind * room + counts[kind]++] = (double)gap_us;
    }
    for (unsigned kind = 0; kind < HTA_IDLES; kind++) {
        stream->idle[kind] = stats_of(&making->values[kind * room], counts[kind]);
        stream->has_idle[kind] = counts[kind] || kind == HTA_IDLE_OTHER; // the first row's is there
    }
}

// --- queue -----------------------------------------------------------------------------

static bool launches(const struct hta_row *row)
{
    static const char *const names[] = {"cudaLaunchKernel",
                                        "cudaLaunchKernelExC",
                                        "cuLaunchKernel",
                                        "cuLaunchKernelEx",
                                        "cudaMemcpyAsync",
                                        "cudaMemsetAsync",
                                        "runFunction - job_prep_and_submit_for_execution",
                                        "hipLaunchKernel",
                                        "hipExtModuleLaunchKernel",
                                        "hipMemsetAsync",
                                        "hipMemcpyAsync",
                                        "hipMemcpyWithStream",
                                        NULL};
    return is_one_of(row->row->name, names);
}

static bool was_launched(const struct hta_rank *rank, int64_t correlation)
{
    const size_t at =
        lower_bound(rank->launched, rank->launched_count, sizeof correlation, correlation);
    return correlation != FOREIGN_NONE && at < rank->launched_count &&
           rank->launched[at] == correlation;
}

struct change {
    int64_t stream, at_us;
    int by;
};

static int by_stream_time(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us ? -1 : 1;
    return b->by - a->by;
}

static struct hta_stream *stream_of(const struct hta_streams *streams, int64_t number)
{
    for (size_t i = 0; i < streams->count; i++)
        if (streams->streams[i].stream == number)
            return &streams->streams[i];
    return NULL;
}

static size_t take_changes(const struct making *making, struct change *changes)
{
    const size_t most = 2 * making->rank->count;
    size_t count = 0, calls = 0, kernels = 0;
    for (size_t i = 0; i < making->calls.count; i++) {
        const struct keyed *call = &making->calls.rows[i];
        size_t at = keyed_rows_from(&making->device, call->key);
        const bool is_known = at < making->device.count && making->device.rows[at].key == call->key;
        if (!launches(row_of(making, call)) || !was_launched(making->rank, call->key))
            continue;
        calls += !is_known; // a row with no stream
        for (; at < making->device.count && making->device.rows[at].key == call->key &&
               count + 2 <= most;
             at++) {
            const struct hta_row *row = row_of(making, &making->device.rows[at]);
            changes[count++] = (struct change){row->row->stream, row_of(making, call)->start_us, 1};
            calls++;
            if (i && making->calls.rows[i - 1].key == call->key &&
                launches(row_of(making, &making->calls.rows[i - 1])))
                continue; // the kernel itself counts once
            changes[count++] = (struct change){row->row->stream, row->start_us, -1};
            kernels++;
        }
    }
    making->streams->queue_fails = calls != kernels;
    return count;
}

static int find_queues(const struct making *making)
{
    struct change *changes = malloc((2 * making->rank->count + 1) * sizeof *changes);
    if (!changes)
        return fail(GAIT_ERR_MEMORY, "no memory for the queues");
    const size_t count = take_changes(making, changes);
    if (count)
        qsort(changes, count, sizeof *changes, by_stream_time);
    for (size_t i = 0, behind; i < count; i = behind) {
        struct hta_stream *stream = stream_of(making->streams, changes[i].stream);
        int64_t length = 0;
        size_t values = 0;
        for (behind = i; behind < count && changes[behind].stream == changes[i].stream; behind++)
            making->values[values++] = (double)(length += changes[behind].by);
        if (stream) {
            stream->queue = stats_of(making->values, values);
            stream->has_queue = true;
        }
    }
    free(changes);
    return GAIT_OK;
}

// --- copies ----------------------------------------------------------------------------

struct flow {
    char name[24];
    int64_t at_us;
    double change;
};

static int by_name_time(const void *left, const void *right)
{
    const struct flow *a = left, *b = right;
    const int names = strcmp(a->name, b->name);
    if (names)
        return names;
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us ? -1 : 1;
    return (a->change < 0) - (b->change < 0); // what begins goes first
}

static void name_copy(char *ret_name, size_t bytes, const char *name)
{
    if (strncmp(name, "Memset", 6) == 0)
        snprintf(ret_name, bytes, "Memset");
    else if (strncmp(name, "Memcpy", 6) != 0)
        snprintf(ret_name, bytes, "Memcpy Unknown");
    else
        snprintf(ret_name, bytes, "%.11s", name);
}

static size_t take_flows(const struct hta_rank *rank, struct flow *flows)
{
    size_t count = 0;
    for (size_t i = 0; i < rank->device_count; i++) {
        const struct hta_row *row = &rank->device[i];
        const int64_t us = row->end_us - row->start_us;
        const double bandwidth = row->row->reals[FOREIGN_BANDWIDTH];
        if (row->row->kind.hta_kind != HTA_MEMORY)
            continue;
        struct flow *flow = &flows[count];
        name_copy(flow->name, sizeof flow->name, row->row->name);
        flow->at_us = row->start_us;
        flow->change = isfinite(bandwidth) ? bandwidth : 0;
        flows[count + 1] = *flow;
        flows[count + 1].at_us += us ? us : 1; // a copy without length takes one
        flows[count + 1].change = -flow->change;
        count += 2;
    }
    return count;
}

static int find_copies(const struct making *making)
{
    struct hta_streams *streams = making->streams;
    struct flow *flows = malloc((2 * making->rank->device_count + 1) * sizeof *flows);
    const size_t count = flows ? take_flows(making->rank, flows) : 0;
    streams->has_copies = count > 0;
    streams->copies = calloc(count + 1, sizeof *streams->copies);
    if (!flows || !streams->copies) {
        free(flows);
        return fail(GAIT_ERR_MEMORY, "no memory for the copies");
    }
    if (count)
        qsort(flows, count, sizeof *flows, by_name_time);
    for (size_t i = 0, behind; i < count; i = behind) {
        double sum = 0;
        size_t values = 0;
        for (behind = i; behind < count && !strcmp(flows[behind].name, flows[i].name); behind++)
            if ((sum += flows[behind].change) > 0)
                making->values[values++] = sum;
        if (!values)
            continue; // nothing says how many bytes
        struct hta_copies *copies = &streams->copies[streams->copy_count++];
        memcpy(copies->name, flows[i].name, sizeof copies->name);
        copies->bandwidth = stats_of(making->values, values);
    }
    free(flows);
    return GAIT_OK;
}

// --- launches --------------------------------------------------------------------------

static bool counts_as_launch(const struct hta_row *row, bool with_memory)
{
    static const char *const kernels[] = {"cudaLaunchKernel", "cudaLaunchKernelExC",
                                          "runFunction - job_prep_and_submit_for_execution", NULL};
    static const char *const copies[] = {"cudaMemcpyAsync", "cudaMemsetAsync", NULL};
    return is_one_of(row->row->name, kernels) || (with_memory && is_one_of(row->row->name, copies));
}

static void add_launch(struct hta_launches *sum, double *values, size_t room,
                       const struct hta_row *call, const struct hta_row *kernel)
{
    const int64_t host_us = call->end_us - call->start_us,
                  device_us = kernel->end_us - kernel->start_us,
                  late_us = kernel->start_us - call->end_us, delay_us = late_us > 0 ? late_us : 0;
    values[sum->count] = (double)host_us;
    values[room + sum->count] = (double)device_us;
    values[2 * room + sum->count++] = (double)delay_us;
    sum->long_host += host_us > LONG_CALL_US;
    sum->long_delay += delay_us > LONG_DELAY_US;
    sum->short_kernels += device_us < host_us;
    sum->short_plotted += device_us < host_us && host_us <= LONG_CALL_US;
}

// Calls and kernels of one correlation, each with each, where one of the calls launches.
static void add_launches(const struct making *making, struct hta_launches *sum,
                         const struct keyed_rows *calls, bool with_memory)
{
    const size_t room = making->rank->count + 1;
    const int64_t key = calls->rows[0].key;
    bool is_launched = false;
    for (size_t i = 0; i < calls->count; i++)
        is_launched |= counts_as_launch(row_of(making, &calls->rows[i]), with_memory);
    for (size_t i = 0; is_launched && i < calls->count; i++)
        for (size_t at = keyed_rows_from(&making->device, key);
             at < making->device.count && making->device.rows[at].key == key && sum->count < room;
             at++)
            add_launch(sum, making->values, room, row_of(making, &calls->rows[i]),
                       row_of(making, &making->device.rows[at]));
}

static void find_launches(const struct making *making, struct hta_launches *sum, bool with_memory)
{
    const size_t room = making->rank->count + 1;
    double *values = making->values;
    for (size_t i = 0, behind; i < making->calls.count; i = behind) {
        behind = keyed_rows_behind(&making->calls, making->calls.rows[i].key);
        const struct keyed_rows calls = {&making->calls.rows[i], behind - i};
        add_launches(making, sum, &calls, with_memory);
    }
    sum->host = stats_of(values, sum->count);
    sum->device = stats_of(values + room, sum->count);
    sum->delay = stats_of(values + 2 * room, sum->count);
    sum->host_p99 = stats_quantile(values, sum->count, 0.99);
    sum->device_p99 = stats_quantile(values + room, sum->count, 0.99);
    sum->delay_p99 = stats_quantile(values + 2 * room, sum->count, 0.99);
}

// --- all of it -------------------------------------------------------------------------

static bool is_kernel(const struct foreign_row *row)
{
    static const char *const categories[] = {"kernel",     "Kernel", "gpu_memset",      "Memset",
                                             "gpu_memcpy", "Memcpy", "mtia_ccp_events", NULL};
    return is_one_of(row->category, categories);
}

static int sort_rows(struct making *making)
{
    const struct hta_rank *rank = making->rank;
    struct keyed_rows *sets[] = {&making->calls, &making->device, &making->kernels};
    int status = GAIT_OK;
    for (size_t i = 0; i < 3 && !status; i++)
        status = keyed_rows_init(sets[i], rank->count);
    for (size_t i = 0; i < rank->count && !status; i++) {
        const struct hta_row *row = &rank->rows[i];
        const int64_t correlation = row->row->correlation, stream = row->row->stream;
        if (stream != FOREIGN_NONE && is_kernel(row->row))
            keyed_rows_add(&making->kernels, stream, i);
        if (correlation != FOREIGN_NONE)
            keyed_rows_add(stream == FOREIGN_NONE ? &making->calls : &making->device, correlation,
                           i);
    }
    for (size_t i = 0; i < 3; i++)
        keyed_rows_sort(sets[i]);
    return status;
}

static int by_stream(const void *left, const void *right)
{
    const struct hta_stream *a = left, *b = right;
    return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static int take_streams(struct making *making)
{
    struct hta_streams *streams = making->streams;
    const struct hta_rank *rank = making->rank;
    streams->streams = calloc(rank->device_count + 1, sizeof *streams->streams);
    if (!streams->streams)
        return fail(GAIT_ERR_MEMORY, "no memory for the streams");
    for (size_t i = 0; i < rank->device_count; i++)
        if (!stream_of(streams, rank->device[i].row->stream))
            streams->streams[streams->count++].stream = rank->device[i].row->stream;
    if (streams->count)
        qsort(streams->streams, streams->count, sizeof *streams->streams, by_stream);
    for (size_t i = 0; i < streams->count; i++) {
        struct hta_stream *stream = &streams->streams[i];
        const size_t from = keyed_rows_from(&making->kernels, stream->stream),
                     behind = keyed_rows_behind(&making->kernels, stream->stream);
        stream->has_kernels = behind > from;
        if (stream->has_kernels)
            find_idle(making, stream, &making->kernels.rows[from], behind - from);
    }
    return GAIT_OK;
}

int hta_streams_make(struct hta_streams *streams, const struct hta_rank *rank)
{
    struct making making = {.streams = streams, .rank = rank};
    *streams = (struct hta_streams){.count = 0};
    making.values = malloc(3 * (rank->count + 1) * sizeof *making.values);
    int status = making.values ? sort_rows(&making)
                               : fail(GAIT_ERR_MEMORY, "no memory for %zu rows", rank->count);
    if (!status)
        status = take_streams(&making);
    if (!status)
        status = find_queues(&making);
    if (!status)
        status = find_copies(&making);
    if (!status) {
        find_launches(&making, &streams->launches, false);
        find_launches(&making, &streams->with_memory, true);
    }
    free(making.values);
    keyed_rows_finish(&making.calls);
    keyed_rows_finish(&making.device);
    keyed_rows_finish(&making.kernels);
    if (status)
        hta_streams_finish(streams);
    return status;
}

void hta_streams_finish(struct hta_streams *streams)
{
    free(streams->streams);
    free(streams->copies);
    *streams = (struct hta_streams){.streams = NULL};
}
