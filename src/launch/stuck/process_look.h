// SPDX-License-Identifier: Apache-2.0
// What /proc says of how a process moves: whether its threads run, how much time and data
// it and its children use, when one thread last ran, and in which call it is blocked.
#ifndef GAIT_LAUNCH_PROCESS_LOOK_H
#define GAIT_LAUNCH_PROCESS_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct process_look {
    char state;      // of the thread: R, S, D, T, t; 0: it is gone
    uint64_t cpu_ns; // that the process and those below it used, and for which the thread waited
    uint64_t io_bytes;
    uint64_t switches; // how often the thread gave up its processor; 0: not known
    int64_t idle_ns;   // since the thread last ran; -1: not known
};

struct process_look process_look_take(int64_t pid, int64_t tid);

// "read of /data/shard-7", "futex", "" for a thread that runs or may not be asked.
void process_look_call(int64_t pid, int64_t tid, char *out, unsigned room);

// The environment that process `pid` began with, texts with a 0 behind each and one more at
// the end; NULL where it may not be read. To be freed.
char *process_look_environment(int64_t pid);

// The file that ends in `ending` and that the process has open; false: none.
bool process_look_open_file(int64_t pid, const char *ending, char *out, unsigned room);

#endif
