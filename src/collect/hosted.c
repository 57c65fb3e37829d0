// SPDX-License-Identifier: Apache-2.0
// Collectors whose work is done in Python: here is what the table has of them, and the
// way to the functions that the Python package gives.
#include <gait/internal/windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "collect/collector.h"

static struct gait_collector_host python_host, nsight_host, devices_host;

static int start(const struct collector *self)
{
    return self->host->open
               ? 0
               : fail(GAIT_ERR_MISSING, "collector '%s' works in Python only", self->name);
}

static int window(const struct collector *self, enum collector_event event, int64_t number)
{
    const struct gait_collector_host *host = self->host;
    if (event == COLLECTOR_OPEN)
        return host->open(host->context);
    if (event == COLLECTOR_STEP && host->step)
        host->step(host->context, number);
    if (event == COLLECTOR_CLOSE)
        host->close(host->context);
    return 0;
}

static void probe_python(struct collector_probe *ret_probe)
{
    ret_probe->is_ready = true;
    snprintf(ret_probe->text, sizeof(ret_probe->text),
             "Python functions in windows with with_stack");
}

// The first `program` of PATH, as a shell finds it.
static bool find_program(const char *program, char *path, size_t room)
{
    for (const char *folder = getenv("PATH"); folder && *folder;) {
        const size_t bytes = strcspn(folder, ":");
        snprintf(path, room, "%.*s/%s", (int)bytes, folder, program);
        if (bytes && access(path, X_OK) == 0)
            return true;
        folder += bytes + (folder[bytes] == ':');
    }
    return false;
}

static void probe_nsight(struct collector_probe *ret_probe)
{
    char path[160];
    ret_probe->is_ready = find_program("nsys", path, sizeof(path));
    if (ret_probe->is_ready)
        snprintf(ret_probe->text, sizeof(ret_probe->text),
                 "%s starts and stops by the schedule if nsight_enabled is set", path);
    else
        snprintf(ret_probe->text, sizeof(ret_probe->text),
                 "no nsys in PATH, which nsight_enabled needs");
}

static void probe_devices(struct collector_probe *ret_probe)
{
    ret_probe->is_ready = true;
    snprintf(ret_probe->text, sizeof(ret_probe->text),
             "kernels, copies, memsets that torch can record");
}

const struct collector collector_python = {
    .name = "python",
    .levels = GAIT_WINDOW_PYTHON,
    .probe = probe_python,
    .start = start,
    .window = window,
    .host = &python_host,
};

const struct collector collector_nsight = {
    .name = "nsight",
    .levels = GAIT_WINDOW_NSIGHT,
    .has_steps = true,
    .probe = probe_nsight,
    .start = start,
    .window = window,
    .host = &nsight_host,
};

const struct collector collector_devices = {
    .name = "devices",
    .levels = GAIT_WINDOW_DEVICES,
    .probe = probe_devices,
    .start = start,
    .window = window,
    .host = &devices_host,
};

int gait_collector_host(const char *name, const struct gait_collector_host *host)
{
    if (!name || !host || host->size != sizeof(*host) || !host->open || !host->close)
        return fail(GAIT_ERR_ARGUMENT, "name, host->open and host->close must not be NULL, and "
                                       "host->size must be sizeof *host");
    for (size_t i = 0; i < collector_count; i++) {
        if (!collectors[i]->host || strcmp(collectors[i]->name, name) != 0)
            continue;
        *collectors[i]->host = *host;
        return 0;
    }
    return fail(GAIT_ERR_MISSING, "no collector '%s' accepts a host", name);
}
