// SPDX-License-Identifier: Apache-2.0
// What a source of events must be able to do, and the table of those that there
// are. window.c opens and closes them together; `gait doctor` prints their probes.
// To add one: a file that defines it, and its line in collectors.c.
#ifndef GAIT_COLLECT_COLLECTOR_H
#define GAIT_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>
#include <gait/internal/windows.h>

#include "base/json_writer.h"

enum collector_event {
    COLLECTOR_OPEN,  // a window begins; `number` is its levels
    COLLECTOR_STEP,  // a step begins inside it; `number` is the step's
    COLLECTOR_CLOSE, // it ends; `number` is 0
};

struct collector_probe {
    bool is_ready;
    char text[240]; // what it would record, or why it cannot and what to do
};

struct collector {
    const char *name; // one lower-case word
    unsigned levels;  // of a window: each of these bits asks for this collector
    bool is_needed;   // every window has it: without it there is no window
    bool has_steps;   // wants COLLECTOR_STEP

    // Looks whether it could record here and fills in `ret_probe`. Starts nothing, and
    // may run in a process that is not the training: `gait doctor`.
    void (*probe)(struct collector_probe *ret_probe);

    // Before its first window. An error: it is left out (or no window is opened, if
    // it is needed) and asked again for the next one. NULL: nothing to prepare.
    int (*start)(const struct collector *self);

    // One call at a time, but for hosts. After COLLECTOR_OPEN has returned 0,
    // COLLECTOR_CLOSE follows on any thread, but not in a child of fork: there it
    // cleans up by itself.
    // Runs between two steps: what it takes is measured and told as cost of gait.
    int (*window)(const struct collector *self, enum collector_event event, int64_t number);

    // Takes out of other libraries what is left there. May be called twice, without a
    // start, and in a child of fork. NULL: nothing stays.
    void (*stop)(void);

    // Members of an object: what it lost since its start, by kind. NULL: nothing.
    void (*describe)(struct json_writer *json);

    struct gait_collector_host *host; // where its work is done outside, else NULL
};

extern const struct collector *const collectors[]; // those that are needed come first
extern const size_t collector_count;

#define COLLECTORS_MAX 8

extern const struct collector collector_torch, collector_python, collector_nsight,
    collector_devices;

#endif
