// SPDX-License-Identifier: Apache-2.0
// Stacks of native and Python frames for some threads, at a rate of their own. A
// thread that runs is stopped for as long as it takes to copy its stack; one that
// waits in the system is left alone if its stack can be told without.
#ifndef GAIT_SAMPLE_NATIVE_SAMPLE_H
#define GAIT_SAMPLE_NATIVE_SAMPLE_H

#include <regex.h>

#include "sample/look/python_process.h"
#include "sample/native/native_unwind.h"
#include "sample/native/thread_stop.h"

#define NATIVE_RATE 100 // a second

struct native_options {
    double rate_hz;      // 0: no native frames
    const char *threads; // pattern of names or numbers; NULL: all threads of Python
};

enum { NATIVE_WINDOWS = 2000, NATIVE_COPY = 32768, NATIVE_COPY_MOST = 131072 };

struct native_totals {
    uint64_t looks, stops;                // threads looked at; of them stopped
    uint64_t unmatched, broken;           // Python frames alone: no match, nothing to be read
    uint64_t cut_short;                   // outer frames without native ones
    uint64_t away;                        // threads on no processor: as Python alone has them
    uint64_t refused;                     // threads that could not be stopped
    uint64_t windows[NATIVE_WINDOWS + 1]; // of the stops, by microseconds they took at most
    uint64_t longest_ns;
    char why[256]; // of the first refusal
};

struct native_subject;

struct native_sampler {
    double rate_hz;
    bool has_idle, is_gil_only;
    bool has_pattern;
    regex_t pattern;
    enum sample_state state; // of the thread that is looked at
    const struct native_subject *subject;
    struct thread_stop stop;
    struct native_registers registers;
    struct native_stack stack;
    struct native_points points;
    struct native_merged merged;
    uint8_t copy[NATIVE_COPY_MOST];
    struct native_totals totals;
};

// Allocates. Fails in one sentence where no native frames can be had.
GAIT_CHECK int native_sampler_create(const struct native_options *options,
                                     struct native_sampler **ret_sampler);
void native_sampler_destroy(struct native_sampler *sampler); // takes NULL

// Whether the stacks of a thread are ours to tell, by its name.
bool native_sampler_wants(const struct native_sampler *sampler, const char *name, int64_t tid);

// Looks at all threads of the process that are its own (python_thread.is_native).
void native_sampler_round(struct native_sampler *sampler, struct python_process *process,
                          struct native_unwind *unwind, uint64_t now_ns);

// Of all stops, the share `share` took at most so many us.
uint64_t native_sampler_window(const struct native_sampler *sampler, double share);

#endif
