// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/epochs_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/run_report.h"
#include "analyse/torch_report.h"
#include "base/fail.h"
#include "cli/folders.h"
#include "render/epochs_csv.h"

static int refuse(const char *path)
{
    return fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
}

static int write_whole(const char *path, const struct run_report *report,
                       const struct gait_trace *trace)
{
    char draft[PATH_MAX + 32];
    snprintf(draft, sizeof draft, "%s.%ld.part", path, (long)getpid());
    FILE *out = fopen(draft, "we");
    if (!out)
        return refuse(path);
    (void)epochs_csv_put(out, report, trace);
    int failed = ferror(out);
    if (fclose(out) || failed || rename(draft, path)) {
        int status = refuse(path);
        unlink(draft);
        return status;
    }
    puts(path);
    return GAIT_OK;
}

static bool has_epochs(const struct run_report *report)
{
    return report->torch && report->torch->epoch_count;
}

int epochs_file_write(const char *folder, const struct run_report *report,
                      const struct gait_trace *trace)
{
    char name[64], path[PATH_MAX];
    if (!has_epochs(report))
        return fail(GAIT_ERR_MISSING, "the run has no epochs: no loader was asked anew, and "
                                      "gait.epoch() was not called");
    if (!strcmp(folder, "-")) {
        (void)epochs_csv_put(stdout, report, trace);
        return GAIT_OK;
    }
    epochs_csv_name(name, sizeof name, report, trace);
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return fail(GAIT_ERR_ARGUMENT, "the path '%s' is too long", folder);
    int status = folders_make_above(path);
    return status ? status : write_whole(path, report, trace);
}
