// SPDX-License-Identifier: Apache-2.0
// What the system tells of processes: whether one that a file tells of is still there, for the
// read leg.
#ifndef GAIT_BASE_PROCESS_H
#define GAIT_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When a process started, as the system counts it; -1 if there is none.
int64_t process_start(int64_t pid);

// The clock by which the system counts that: ns since its boot.
int64_t process_clock_ns(void);

// `start` is what process_start() said in that process; numbers are used
// again. False for a zombie, and where the start is not known.
bool process_lives(int64_t pid, int64_t start);

uint64_t process_namespace(void);

// Whether numbers of that namespace mean our processes; 0 passes, not known.
bool process_is_numbered_here(uint64_t pid_namespace);

// What a file of /proc holds, as a text cut to the room there is; how many bytes. 0: nothing, or
// there is no such file.
size_t process_text(const char *path, char *out, size_t room);

// The number by which process `pid` itself knows its thread `tid`; 0 if there is none.
int64_t process_inner_id(int64_t pid, int64_t tid);

// Whether the process that has the number `pid` in that namespace lives. False, too, where it
// is not seen from here: in a container beside this one.
bool process_lives_in(uint64_t pid_namespace, int64_t pid, int64_t start);

#endif
