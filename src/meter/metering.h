// SPDX-License-Identifier: Apache-2.0
// A thread that reads the devices of this machine while a program runs. Of several that have
// one run directory, each device is read by one alone; when that one ends, another goes on.
#ifndef GAIT_METER_METERING_H
#define GAIT_METER_METERING_H

#include <pthread.h>

#include "meter/meter_set.h"
#include "meter/meter_shard.h"

#define METER_USUAL_HZ 10
#define METER_MOST_HZ 100

struct meter_wish {
    int64_t rate_hz;  // 0: nothing is read
    bool is_asked;    // the user did: what is missing is recorded, too
    const char *path; // of the shard
    const char *lock; // a file of the run directory that is there
    int64_t subject_pid;
};

struct metering {
    // what is wished
    int64_t rate_hz;
    bool is_asked;
    char path[PATH_MAX + 128], lock_path[PATH_MAX + 64];
    int64_t subject_pid;
    // the thread's
    struct meter_set set;
    struct meter_shard shard;
    struct meter_look last[METER_MOST_DEVICES]; // of what is written when it changes
    uint64_t told_ns[METER_MOST_DEVICES];       // when all of that was
    bool is_ours[METER_MOST_DEVICES];
    uint32_t rises[METER_MOST_DEVICES]; // of the counter, in the beginning
    int lock;                           // -1: there is none, and every device is ours
    uint64_t period_ns, rounds;
    uint64_t begun_ns, begun_cpu_ns; // of the steady part
    // of both
    pthread_t thread;
    int wake; // a write ends it
    bool is_running;
    char why[512];      // "": all is well
    char missing[1024]; // what could not be measured and why, where nothing was; else ""
};

// What goes wrong is kept in `why`: a program runs without.
void metering_start(struct metering *meter, const struct meter_wish *wish);

// Reads once more, ends the thread and closes the shard. A library that does not answer is
// waited for two seconds, and then left alone with all that it was given.
void metering_stop(struct metering *meter); // takes a zeroed one

#endif
