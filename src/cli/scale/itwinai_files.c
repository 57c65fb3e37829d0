// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/scale/itwinai_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analyse/energy/energy_run.h"
#include "analyse/report/run_report.h"
#include "analyse/scale/scale_trace.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "render/epochs_csv.h"
#include "render/itwinai_tables.h"
#include "shard/folders.h"

struct writing {
    const char *folder;
    struct gait_trace *trace;
    struct run_report report;
    struct energy_run energy;
    struct itwinai_job job;
    size_t rows, files;
};

static int print_epochs(FILE *out, void *context)
{
    const struct writing *writing = context;
    epochs_csv_put(out, &writing->report, writing->trace);
    return GAIT_OK;
}

static int print_devices(FILE *out, void *context)
{
    const struct writing *writing = context;
    itwinai_tables_put_devices(out, &writing->energy, &writing->job);
    return GAIT_OK;
}

static int print_averages(FILE *out, void *context)
{
    struct writing *writing = context;
    const int status =
        itwinai_tables_put_averages(out, writing->trace, &writing->job, &writing->rows);
    return status || writing->rows ? status : fail(GAIT_ERR_MISSING, "no op is on record");
}

static int write_file(struct writing *writing, const char *name, own_file_printer *print)
{
    char path[PATH_MAX];
    int status = folders_make(writing->folder, 0777);
    snprintf(path, sizeof path, "%.3800s/%.*s", writing->folder, (int)strcspn(name, "/"), name);
    const int error = status ? 0 : own_folder_make(path, 0777);
    if (error && error != EEXIST)
        return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", path, own_file_why(error));
    if (snprintf(path, sizeof path, "%s/%s", writing->folder, name) >= PATH_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the path '%.200s' is too long", writing->folder);
    if (!status)
        status = own_file_print(path, print, writing);
    if (status)
        return status;
    writing->files++;
    puts(path);
    return GAIT_OK;
}

static int write_all(struct writing *writing)
{
    char name[PATH_MAX], epochs[NAME_MAX];
    int status = GAIT_OK;
    if (scale_trace_epochs(&writing->report)) {
        epochs_csv_name(epochs, sizeof epochs, &writing->report, writing->trace);
        snprintf(name, sizeof name, "epoch-time/%.200s", epochs);
        status = write_file(writing, name, print_epochs);
    }
    if (!status && energy_run_devices(&writing->energy, ENERGY_GPUS)) {
        snprintf(name, sizeof name, "gpu-energy-data/%s_%g.csv", writing->job.strategy,
                 writing->job.workers);
        status = write_file(writing, name, print_devices);
    }
    if (status)
        return status;
    snprintf(name, sizeof name, "computation-data/%s_%g_0.csv", writing->job.strategy,
             writing->job.workers);
    status = write_file(writing, name, print_averages);
    if (status == GAIT_ERR_MISSING &&
        snprintf(name, sizeof name, "%s/computation-data", writing->folder) < (int)sizeof name)
        own_folder_drop(name); // itwinai refuses a folder without tables
    if (status == GAIT_ERR_MISSING && writing->files)
        status = GAIT_OK; // without ops there is no such table
    return status == GAIT_ERR_MISSING
               ? fail(status, "the run has no epochs, no energy of GPUs and no ops: there is "
                              "nothing that itwinai's report reads")
               : status;
}

int itwinai_files_write(const char *folder, struct gait_trace *trace)
{
    struct writing writing = {.folder = folder, .trace = trace};
    int status = run_report_make(&writing.report, trace);
    if (!status) {
        status = energy_run_read(&writing.energy, trace);
        writing.job.workers = scale_trace_workers(trace, &writing.report);
        writing.job.strategy =
            writing.job.workers > 1 ? "ddp" : scale_trace_strategy(&writing.report);
        if (!status)
            status = write_all(&writing);
        energy_run_finish(&writing.energy);
    }
    run_report_finish(&writing.report);
    return status;
}
