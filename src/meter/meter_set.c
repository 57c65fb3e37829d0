// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "meter/meter_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

static const struct meter_backend *const backends[] = {&nvml_backend, &amdgpu_backend,
                                                       &rapl_backend, &hwmon_backend};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

int meter_set_open(struct meter_set *set)
{
    const char *root = getenv("GAIT_METER_ROOT");
    memset(set, 0, sizeof *set);
    set->root = root ? root : "";
    set->devices = calloc(METER_MOST_DEVICES, sizeof *set->devices);
    if (!set->devices)
        return fail(GAIT_ERR_MEMORY, "no memory for the meters of this machine");
    for (size_t i = 0; i < BACKENDS; i++)
        backends[i]->find(set);
    return GAIT_OK;
}

void meter_set_close(struct meter_set *set)
{
    for (size_t i = 0; i < BACKENDS && set->devices; i++)
        if (backends[i]->leave)
            backends[i]->leave(set);
    for (size_t i = 0; set->devices && i < set->count; i++)
        for (size_t file = 0; file < METER_FILES; file++)
            if (set->devices[i].files[file] >= 0)
                close(set->devices[i].files[file]);
    free(set->devices);
    memset(set, 0, sizeof *set);
}

struct metered *meter_set_add(struct meter_set *set, enum meter_device kind,
                              enum meter_source source)
{
    if (set->count == METER_MOST_DEVICES)
        return NULL;
    struct metered *device = &set->devices[set->count++];
    for (size_t file = 0; file < METER_FILES; file++)
        device->files[file] = -1;
    meter_look_put(&device->facts, METER_KIND, kind);
    meter_look_put(&device->facts, METER_FROM, source);
    return device;
}

void meter_set_miss(struct meter_set *set, enum meter_source source, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(set->why[source], METER_WHY_BYTES, format, values);
    va_end(values);
}

bool meter_text(const char *path, char *out, size_t room)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = file < 0 ? -1 : read(file, out, room - 1);
    if (file >= 0)
        close(file);
    if (got < 0)
        return false;
    out[got] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static bool to_number(const char *text, int64_t *ret_number)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || errno || (*end && *end != '\n'))
        return false;
    *ret_number = number;
    return true;
}

bool meter_number(const char *path, int64_t *ret_number)
{
    char text[40];
    return meter_text(path, text, sizeof text) && to_number(text, ret_number);
}

bool meter_file_number(int file, int64_t *ret_number)
{
    char text[40];
    const ssize_t got = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return to_number(text, ret_number);
}
