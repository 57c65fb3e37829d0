// SPDX-License-Identifier: Apache-2.0
// Everything wanted from the operating system beyond C and POSIX. A port to
// another system is a second .c file beside linux.c.
#ifndef GAIT_BASE_OS_OS_H
#define GAIT_BASE_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t os_thread_id(void);

// When process `pid` started, as the system counts it; -1 if there is none.
int64_t os_process_start(int64_t pid);

// Base name of this process's executable, or "".
void os_program_name(char *ret_name, size_t bytes);

// Sleeps while *word == expected, at most `timeout_ns`; may wake early.
void os_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void os_wake(const uint32_t *word);

// After this every other thread of the process has passed a full barrier.
void os_barrier_all_threads(void);
bool os_barrier_setup(void); // once a process, before the first use

// Reserves [offset, offset + bytes) of a file on its disk, so that writing there
// cannot fail later. 0 or an errno; a file-size limit raises no signal here.
int os_reserve(int fd, uint64_t offset, uint64_t bytes);

// True where all processors count the same steady ticks, readable by clock_now().
bool os_tick_counter_is_steady(void);

#endif
