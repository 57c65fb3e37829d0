// SPDX-License-Identifier: Apache-2.0
// The category decides; an event that merely names a stream is none of a device (Triton's
// ops do), nor is a copy of an annotation that a profiler drew on a stream.
#include "analyse/device/device_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/compat/tb_rank.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/site_role.h"

enum { MOST_ROWS = 1 << 28 };

// What a site is. The lanes come first, so that one is a kind.
enum kind { KIND_CALL = LANE_NONE, KIND_BLOCKING, KIND_INPUT, KIND_STEP, KIND_OTHER, KIND_UNKNOWN };

int device_rows_init(struct device_rows *rows, const struct gait_trace *trace)
{
    *rows = (struct device_rows){.trace = trace,
                                 .site_count = gait_trace_site_count(trace),
                                 .track_count = gait_trace_track_count(trace)};
    rows->kinds = malloc((size_t)rows->site_count + 1);
    rows->devices = calloc((size_t)rows->track_count + 1, sizeof *rows->devices);
    if (!rows->kinds || !rows->devices)
        return fail(GAIT_ERR_MEMORY, "no memory for %u names", rows->site_count);
    memset(rows->kinds, KIND_UNKNOWN, (size_t)rows->site_count + 1);
    return GAIT_OK;
}

void device_rows_finish(struct device_rows *rows)
{
    if (!rows)
        return;
    free(rows->events.rows);
    free(rows->calls.rows);
    for (unsigned i = 0; i < WAIT_COUNT; i++)
        free(rows->waits[i].rows);
    free(rows->steps);
    free(rows->windows);
    free(rows->kinds);
    free(rows->devices);
    *rows = (struct device_rows){.trace = NULL};
}

// Calls that return when the device has done what was asked of it before.
static bool is_blocking(const char *call)
{
    return strstr(call, "Synchronize") || !strcmp(call, "cudaMemcpy") || !strcmp(call, "hipMemcpy");
}

static enum kind learn_kind(enum role role, const char *name)
{
    switch (role) {
    case ROLE_STEP:
        return KIND_STEP;
    case ROLE_RUNTIME:
        return is_blocking(name) ? KIND_BLOCKING : KIND_CALL;
    case ROLE_PHASE:
        return strcmp(name, "input") ? KIND_OTHER : KIND_INPUT;
    default:
        return role_is_device_work(role) ? (enum kind)role_lane(role)
               : tb_is_loader(name)      ? KIND_INPUT
                                         : KIND_OTHER;
    }
}

static enum kind kind_of(struct device_rows *rows, uint32_t site)
{
    struct gait_site_info info;
    if (site >= rows->site_count)
        return KIND_OTHER;
    if (rows->kinds[site] == KIND_UNKNOWN)
        rows->kinds[site] = gait_trace_site(rows->trace, site, &info)
                                ? KIND_OTHER
                                : (uint8_t)learn_kind(site_role(rows->trace, site), info.name);
    return (enum kind)rows->kinds[site];
}

static int add_row(struct device_list *list, const struct device_event *row)
{
    const struct array_shape shape = {sizeof *list->rows, MOST_ROWS};
    int status = array_reserve((void **)&list->rows, &list->capacity, list->count + 1, shape);
    if (!status)
        list->rows[list->count++] = *row;
    return status;
}

int device_rows_add_step(struct device_rows *rows, const struct device_step *step)
{
    const struct array_shape shape = {sizeof *rows->steps, MOST_ROWS};
    int status =
        array_reserve((void **)&rows->steps, &rows->step_capacity, rows->step_count + 1, shape);
    if (!status)
        rows->steps[rows->step_count++] = *step;
    return status;
}

static int add_step(struct device_rows *rows, const struct device_event *row)
{
    struct gait_site_info info;
    int status = gait_trace_site(rows->trace, row->site, &info);
    const struct device_step step = {row->start_ns, row->end_ns, status ? "" : info.name};
    return status ? status : device_rows_add_step(rows, &step);
}

// Streams of a device have the process of its number around them.
static int32_t device_of(const struct gait_trace *trace, uint32_t track)
{
    struct gait_track_info info;
    char *end;
    if (gait_trace_track(trace, track, &info))
        return DEVICE_UNNUMBERED;
    if (info.parent != GAIT_NO_TRACK && gait_trace_track(trace, info.parent, &info))
        return DEVICE_UNNUMBERED;
    const long number = strtol(info.key, &end, 10);
    return end != info.key && !*end && number >= 0 && number < INT32_MAX ? (int32_t)number
                                                                         : DEVICE_UNNUMBERED;
}

// Numbers of calls begin anew in another trace, and a rank may have several of them.
static uint64_t link_of(const struct device_rows *rows, const struct gait_batch *batch, size_t at)
{
    const size_t window = rows->window_count ? rows->window_count - 1 : 0;
    return batch->link[at] ? batch->link[at] ^ (uint64_t)window << 40 : 0;
}

// The rows of a shard come one after the other.
static int begin_batch(struct device_rows *rows, uint32_t track)
{
    const struct array_shape shape = {sizeof *rows->windows, MOST_ROWS};
    struct gait_track_info info;
    int status = gait_trace_track(rows->trace, track, &info);
    if (status || (rows->window_count && rows->windows[rows->window_count - 1].shard == info.shard))
        return status;
    status = array_reserve((void **)&rows->windows, &rows->window_capacity, rows->window_count + 1,
                           shape);
    if (!status)
        rows->windows[rows->window_count++] =
            (struct device_window){info.shard, INT64_MAX, INT64_MIN};
    return status;
}

static int add_event(struct device_rows *rows, const struct device_event *row)
{
    struct device_window *window = &rows->windows[rows->window_count - 1];
    window->start_ns = row->start_ns < window->start_ns ? row->start_ns : window->start_ns;
    window->end_ns = row->end_ns > window->end_ns ? row->end_ns : window->end_ns;
    return add_row(&rows->events, row);
}

int device_rows_add(struct device_rows *rows, const struct gait_batch *batch)
{
    int status = begin_batch(rows, batch->track);
    if (!status && batch->track < rows->track_count)
        rows->devices[batch->track] = device_of(rows->trace, batch->track);
    for (size_t i = 0; i < batch->rows && !status; i++) {
        const enum kind kind = kind_of(rows, batch->site[i]);
        const bool is_device = kind < KIND_CALL;
        struct device_event row = {.start_ns = batch->start_ns[i],
                                   .link = link_of(rows, batch, i),
                                   .track = batch->track,
                                   .site = batch->site[i]};
        if (kind == KIND_OTHER || batch->duration_ns[i] < 0 ||
            __builtin_add_overflow(row.start_ns, batch->duration_ns[i], &row.end_ns))
            continue; // still open: there is no saying how long it took
        if (kind == KIND_STEP)
            status = rows->has_own_steps ? GAIT_OK : add_step(rows, &row);
        else if (is_device)
            status = add_event(rows, &row);
        else if (kind != KIND_CALL)
            status = add_row(&rows->waits[kind == KIND_BLOCKING], &row);
        if (!status && row.link && (kind == KIND_CALL || kind == KIND_BLOCKING))
            status = add_row(&rows->calls, &row);
    }
    return status;
}

// --- into order -----------------------------------------------------------------------

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_start(const void *left, const void *right)
{
    const struct device_event *a = left, *b = right;
    return a->start_ns != b->start_ns ? compare(a->start_ns, b->start_ns)
                                      : compare(a->end_ns, b->end_ns);
}

static int by_link(const void *left, const void *right)
{
    const struct device_event *a = left, *b = right;
    return a->link != b->link ? (a->link < b->link ? -1 : 1) : by_start(left, right);
}

static int by_start_name(const void *left, const void *right)
{
    const struct device_step *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return compare(a->start_ns, b->start_ns);
    const int names = strcmp(a->name, b->name);
    return names ? names : compare(a->end_ns, b->end_ns);
}

static void sort(struct device_list *list, int order(const void *, const void *))
{
    size_t i = 1;
    while (i < list->count && order(&list->rows[i - 1], &list->rows[i]) <= 0)
        i++;
    if (i < list->count) // they mostly come in order
        qsort(list->rows, list->count, sizeof *list->rows, order);
}

void device_rows_sort(struct device_rows *rows)
{
    size_t kept = 0;
    sort(&rows->events, by_start);
    sort(&rows->calls, by_link);
    if (rows->step_count)
        qsort(rows->steps, rows->step_count, sizeof *rows->steps, by_start_name);
    for (size_t i = 0; i < rows->step_count; i++) // one may be there as an op and as an annotation
        if (!kept || by_start_name(&rows->steps[kept - 1], &rows->steps[i]))
            rows->steps[kept++] = rows->steps[i];
    rows->step_count = kept;
    kept = 0;
    for (size_t i = 0; i < rows->window_count; i++) // of a shard that has nothing of devices
        if (rows->windows[i].start_ns <= rows->windows[i].end_ns)
            rows->windows[kept++] = rows->windows[i];
    rows->window_count = kept;
}
