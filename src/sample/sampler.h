// SPDX-License-Identifier: Apache-2.0
// A recording: processes followed, rounds at random times, samples counted and
// put into a shard. Runs in one thread until it is told to stop.
#ifndef GAIT_SAMPLE_SAMPLER_H
#define GAIT_SAMPLE_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/followed_list.h"
#include "sample/look/stack_trie.h"
#include "sample/native/native_sample.h"
#include "sample/sample_shard.h"

struct sampler_options {
    double rate_hz;
    double seconds;  // 0: until the process ends
    bool has_idle;   // threads that are blocked too
    bool keeps_idle; // else: they are written aside, and counted in no sum of samples
    bool is_gil_only;
    bool has_threads, has_children; // frames that name them, as py-spy has them
    bool has_orphans;               // whose parent ended becomes our child: launch.h
    struct native_options native;   // rate_hz 0: stacks of Python alone
    bool is_waiting;                // for the process to become a Python: we started it
};

struct sampler_totals {
    uint64_t rounds, samples, late, cut, torn, processes;
    uint64_t missed;                // rounds that fell into times in which one was late
    uint64_t looks;                 // at a process: one in each round for each that was seen
    uint64_t collecting;            // samples of threads that collected garbage
    uint64_t aside;                 // samples beside these, of blocked threads
    uint64_t no_stack;              // rounds of a thread outside Python, or not read yet
    uint64_t moved;                 // looks at stacks in motion of which nothing had to be cut
    uint64_t states[SAMPLE_STATES]; // of all threads, recorded or not: enum sample_state
    uint64_t errors, unreadable, lost_processes; // errors: the sum of the two
    double seconds;
};

struct sampler {
    struct sampler_options options;
    struct stack_trie trie;
    struct sample_shard *shard; // may be NULL
    struct followed_list followed;
    struct sampler_totals totals;
    uint64_t first_ns;             // when the first process was found
    uint64_t begun_ns;             // 0: the first round is the beginning
    struct native_sampler *native; // NULL: without
    bool has_native_look;          // due in this round
    atomic_bool is_stopped;
    bool is_ending; // behind the last round
    // Called every now and then between rounds, for outputs that are written anew, and
    // once when it is ending.
    void (*refresh)(void *context, struct sampler *sampler);
    void *context;
    uint64_t refresh_every_ns; // 0: a second
    uint64_t refresh_ns;
};

// Native frames that are wished for and cannot be had are no failure: sampler->native
// is NULL then, and fail_text() says why.
GAIT_CHECK int sampler_init(struct sampler *sampler, const struct sampler_options *options);
void sampler_finish(struct sampler *sampler);

// Attaches to the process. With `is_waiting` that may be tried again later.
GAIT_CHECK int sampler_follow(struct sampler *sampler, int64_t pid);

// Whether the first process is stopped, by a signal or a debugger.
bool sampler_is_held(const struct sampler *sampler);

// What a thread of now did since it was asked for before.
struct sampler_thread {
    int64_t pid, tid;
    uint64_t states[SAMPLE_STATES]; // rounds
    char name[PYTHON_THREAD_NAME];
};
typedef void sampler_look(void *context, const struct sampler_thread *thread);

// For `refresh`: all threads, process by process.
void sampler_look_at_threads(struct sampler *sampler, sampler_look *look, void *context);

// Rounds until the time is over, the processes are gone, or is_stopped.
GAIT_CHECK int sampler_run(struct sampler *sampler);

#endif
