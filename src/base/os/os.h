// SPDX-License-Identifier: Apache-2.0
// Everything wanted from the operating system beyond C and POSIX. A port to
// another system is a second .c file beside linux.c.
#ifndef GAIT_BASE_OS_OS_H
#define GAIT_BASE_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t os_thread_id(void);

// Whether the first thread of this process lives; whether any beside the calling
// one does. Both true where nobody can tell.
bool os_main_thread_lives(void);
bool os_other_thread_lives(void);

// The letter that the system has for what a thread does, T and t: it is stopped, Z: it
// ended; X where there is none.
char os_thread_state(int64_t pid, int64_t tid);

// When process `pid` started, as the system counts it; -1 if there is none.
int64_t os_process_start(int64_t pid);

// Which program a process runs. Its number may be given to another process, and by
// exec() the process becomes another program with the same start: its stack then lies
// elsewhere, unless addresses are not random.
struct os_program {
    int64_t start;      // as os_process_start() says it
    uint64_t stack_end; // 0 where we may not know
};

// Between which moments this process began, in ns of the system's clock since its boot,
// which goes on while it sleeps. exec() changes nothing of it.
struct os_birth {
    int64_t from_ns, to_ns;
};

// False where the system does not tell.
bool os_own_birth(struct os_birth *ret_birth);

// That clock, now.
int64_t os_boot_ns(void);

// Has `listener` told with which code the process ends, if it ends by exit() or from main():
// once, on the thread that ends it, ahead of destructors. Nothing where the system cannot.
void os_on_exit(void (*listener)(int code));

// False if there is no such process.
bool os_process_program(int64_t pid, struct os_program *ret_program);

// A handle of the memory of what process `pid` runs now, to be closed. Neither another process
// under that number nor another program after an exec() gets it. -1: it may not be read.
int os_memory_handle(int64_t pid);

// Whether that memory is gone: the process ended, or called exec(). Any address of it will do.
// Of handle -1 nobody knows: false.
bool os_memory_is_gone(int handle, uint64_t address);

// Whether process `pid` is there, is the one that started then, and has not
// ended (a zombie has). False where the start is not known.
bool os_process_lives(int64_t pid, int64_t start);

// Tells apart the numberings of processes that containers have; 0: not known.
uint64_t os_pid_namespace(void);

// Base name of this process's executable, or "".
void os_program_name(char *ret_name, size_t bytes);

// Sleeps while *word == expected, at most `timeout_ns`; may wake early.
void os_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void os_wake(const uint32_t *word);

// After this every other thread of the process has passed a full barrier.
void os_barrier_all_threads(void);
bool os_barrier_setup(void); // once a process, before the first use

// An open file, kept apart from the number it is open under: a program may close
// our descriptors along with its own and open something else in their place.
struct os_file {
    int fd; // -1: none
    uint64_t device, inode;
};

// open(2) with O_CLOEXEC, never as standard input, output or error. 0 or an errno.
int os_file_open(struct os_file *file, const char *path, int flags, unsigned mode);
// The same of a file that is open already, by a number of its own. 0 or an errno.
int os_file_share(struct os_file *file, int fd);
bool os_file_is_ours(const struct os_file *file);
void os_file_close(struct os_file *file); // takes one that is not ours any more

// Writes all of it or returns an errno; a file-size limit raises no signal here.
int os_file_write(const struct os_file *file, const void *bytes, size_t count, uint64_t offset);

// Reserves [offset, offset + bytes) of a file on its disk, so that writing there
// cannot fail later. 0 or an errno; a file-size limit raises no signal here.
int os_file_reserve(const struct os_file *file, uint64_t offset, uint64_t bytes);

// How long a file may become (RLIMIT_FSIZE); UINT64_MAX: as long as it likes.
uint64_t os_file_size_limit(void);

// True where all processors count the same steady ticks, readable by clock_now().
bool os_tick_counter_is_steady(void);

#endif
