// SPDX-License-Identifier: Apache-2.0
#include "render/itwinai_tables.h"

#include <inttypes.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/compare/name_totals.h"
#include "analyse/device/kernels.h"
#include "analyse/energy/energy_run.h"
#include "base/csv/csv_field.h"

enum { MOST_FIELD = 1 << 20, INTERVAL_S = 1 };
#define MOST_BYTES ((size_t)1 << 30)

// --- devices ----------------------------------------------------------------------------

// Where a GPU is: its node, and its number there.
struct place {
    size_t node, local;
};

static struct place place_of(const struct energy_run *run, size_t device)
{
    struct place place = {0, 0};
    for (size_t i = 0; i < device; i++) {
        if (run->devices[i].kind != DEVICE_GPU)
            continue;
        bool is_new = strcmp(run->devices[i].host, run->devices[device].host) != 0;
        place.local += !is_new;
        for (size_t k = 0; k < i; k++)
            is_new = is_new && (run->devices[k].kind != DEVICE_GPU ||
                                strcmp(run->devices[k].host, run->devices[i].host) != 0);
        place.node += is_new;
    }
    return place;
}

static void put_device(FILE *out, const struct energy_run *run, size_t number,
                       const struct itwinai_job *job)
{
    static const int64_t slice_ns = INT64_C(1000000000) * INTERVAL_S;
    const struct energy_device *device = &run->devices[number];
    const struct energy_series *series = &device->series;
    const struct place place = place_of(run, number);
    const double busy = energy_gauge_mean(&device->gauges[METER_BUSY]);
    size_t sample = 0;
    for (int64_t at_ns = series->first_ns; at_ns < series->last_ns; sample++) {
        const struct interval slice = {
            at_ns, series->last_ns - at_ns < slice_ns ? series->last_ns : at_ns + slice_ns};
        const struct energy energy = energy_series_of(series, &slice, 1);
        fprintf(out, "%zu,%.4g,%.17g,%zu,%zu,%g,%s,%d\n", sample, busy >= 0 ? busy : 0,
                energy.joules / INTERVAL_S, place.local, place.node, job->workers, job->strategy,
                INTERVAL_S);
        at_ns = slice.end_ns;
    }
}

void itwinai_tables_put_devices(FILE *out, const struct energy_run *run,
                                const struct itwinai_job *job)
{
    fputs("sample_idx,utilization,power,local_rank,node_idx,num_global_gpus,strategy,"
          "probing_interval\n",
          out);
    for (size_t i = 0; i < run->count; i++)
        if (run->devices[i].kind == DEVICE_GPU)
            put_device(out, run, i, job);
}

// --- averages ---------------------------------------------------------------------------

// The time of the kernels that ops of that name launched.
static uint64_t launched_ns(const struct gait_trace *trace, const struct kernels *kernels,
                            const char *name)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        struct gait_site_info op;
        if (kernels->rows[i].op != GAIT_NO_SITE &&
            !gait_trace_site(trace, kernels->rows[i].op, &op) && !strcmp(op.name, name))
            sum_ns += kernels->rows[i].sum_ns;
    }
    return sum_ns;
}

static int put_average(FILE *out, const struct name_total *total, uint64_t self_ns, size_t row)
{
    struct buffer field;
    buffer_init(&field, MOST_FIELD);
    const int status = csv_field_append(&field, total->name, strlen(total->name));
    if (!status)
        fprintf(out, "%zu,%.*s,-1,%.3f,%.3f,%.3fus,%" PRIu64, row, (int)field.used,
                (const char *)field.bytes, (double)self_ns / 1e3, (double)self_ns / 1e3,
                (double)self_ns / 1e3, total->calls);
    buffer_finish(&field);
    return status;
}

static int put_averages(FILE *out, struct gait_trace *trace, const struct itwinai_job *job,
                        const struct name_totals *totals, size_t *ret_rows)
{
    struct kernels kernels = {.count = 0};
    size_t rows = 0;
    int status = kernels_make(&kernels, trace, NULL);
    fputs(",name,node_id,self_cuda_time_total,cuda_time_total,cuda_time_total_str,calls,strategy,"
          "num_gpus,global_rank\n",
          out);
    for (size_t i = 0; !status && i < totals->count; i++) {
        const struct name_total *total = &totals->rows[i];
        const bool is_work = role_is_device_work(total->role);
        if (!is_work && total->role != ROLE_OP)
            continue;
        status = put_average(out, total,
                             is_work ? total->total_ns : launched_ns(trace, &kernels, total->name),
                             rows++);
        fprintf(out, ",%s,%g,0\n", job->strategy, job->workers);
    }
    kernels_finish(&kernels);
    *ret_rows = rows;
    return status;
}

int itwinai_tables_put_averages(FILE *out, struct gait_trace *trace, const struct itwinai_job *job,
                                size_t *ret_rows)
{
    struct arena arena;
    struct name_totals totals;
    arena_init(&arena, MOST_BYTES);
    int status = name_totals_make(&totals, trace, &arena);
    if (!status)
        status = put_averages(out, trace, job, &totals, ret_rows);
    arena_finish(&arena);
    return status;
}
