// SPDX-License-Identifier: Apache-2.0
// The category decides what a row is; an event that merely names a stream is none of a device
// (Triton's ops do), nor is a copy of an annotation that a profiler drew on a stream.
#include "analyse/device/activity.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/site_role.h"

// Words of calls, of every vendor's runtime; the first that fits.
static const struct {
    const char *word;
    bool is_whole;
    enum activity activity;
} call_words[] = {
    {"Synchronize", false, ACTIVITY_BLOCKING}, {"cudaMemcpy", true, ACTIVITY_BLOCKING},
    {"hipMemcpy", true, ACTIVITY_BLOCKING},    {"Malloc", false, ACTIVITY_ALLOC},
    {"cudaFree", false, ACTIVITY_ALLOC},       {"hipFree", false, ACTIVITY_ALLOC},
    {"HostAlloc", false, ACTIVITY_ALLOC},      {"HostRegister", false, ACTIVITY_ALLOC},
    {"emcpy", false, ACTIVITY_COPY_CALL},
};

static enum activity activity_of_call(const char *call)
{
    for (size_t i = 0; i < sizeof call_words / sizeof call_words[0]; i++)
        if (call_words[i].is_whole ? !strcmp(call, call_words[i].word)
                                   : strstr(call, call_words[i].word) != NULL)
            return call_words[i].activity;
    return ACTIVITY_LAUNCH;
}

// A batch that a loader of torch hands over; the other ranges of the loader are its workers'.
static bool is_loader(const char *name)
{
    static const char pipe[] = "enumerate(DataPipe)#", loader[] = "enumerate(DataLoader)#",
                      next[] = ".__next__";
    const size_t length = strlen(name);
    if (strncmp(name, pipe, sizeof pipe - 1) == 0)
        return true;
    return strncmp(name, loader, sizeof loader - 1) == 0 && length >= sizeof next &&
           strcmp(name + length - sizeof next + 1, next) == 0;
}

static uint8_t kind_of(enum role role, const char *name)
{
    switch (role) {
    case ROLE_STEP:
        return ACTIVITY_STEP;
    case ROLE_RUNTIME:
        return (uint8_t)activity_of_call(name);
    case ROLE_PHASE:
        return strcmp(name, "input") ? ACTIVITY_PHASE : ACTIVITY_INPUT;
    default:
        return role_is_device_work(role) ? (uint8_t)role_lane(role)
               : is_loader(name)         ? ACTIVITY_INPUT
               : role == ROLE_OP         ? ACTIVITY_OP
               : role == ROLE_PYTHON     ? ACTIVITY_PYTHON
                                         : FEED_NO_KIND;
    }
}

int activities_find(const struct gait_trace *trace, uint8_t **ret_kinds)
{
    const uint32_t count = gait_trace_site_count(trace);
    uint8_t *kinds = *ret_kinds = malloc((size_t)count + 1);
    if (!kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %u names", count);
    for (uint32_t i = 0; i < count; i++) {
        struct gait_site_info info;
        kinds[i] = gait_trace_site(trace, i, &info) ? FEED_NO_KIND
                                                    : kind_of(site_role(trace, i), info.name);
    }
    return GAIT_OK;
}

// Streams of a device have the process of its number around them.
int32_t activity_device(const struct gait_trace *trace, uint32_t track)
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
