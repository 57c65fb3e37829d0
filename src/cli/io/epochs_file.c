// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/epochs_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "answer/sentence_text.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "render/epochs_csv.h"
#include "shard/folders.h"

struct epochs {
    const struct run_report *report;
    const struct gait_trace *trace;
};

static int print(FILE *out, void *context)
{
    const struct epochs *epochs = context;
    epochs_csv_put(out, epochs->report, epochs->trace);
    return GAIT_OK;
}

static int refuse(const struct run_report *report)
{
    const char *why = report->torch ? sentence_note(report->torch->epochs_why) : NULL;
    return fail(GAIT_ERR_MISSING, "the run has no epochs%s%s", why ? ": " : "", why ? why : "");
}

int epochs_file_write(const char *folder, const struct run_report *report,
                      const struct gait_trace *trace)
{
    char name[64], path[PATH_MAX];
    struct epochs epochs = {report, trace};
    if (!report->torch || !report->torch->epoch_count)
        return refuse(report);
    if (!strcmp(folder, "-")) {
        epochs_csv_put(stdout, report, trace);
        return GAIT_OK;
    }
    epochs_csv_name(name, sizeof name, report, trace);
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return fail(GAIT_ERR_ARGUMENT, "the path '%s' is too long", folder);
    int status = folders_make_above(path);
    if (!status)
        status = own_file_print(path, print, &epochs);
    if (!status)
        puts(path);
    return status;
}
