// SPDX-License-Identifier: Apache-2.0
// Starts a program and stays beside it as if it were not there: signals,
// process group, terminal and exit status are the program's own.
#ifndef GAIT_LAUNCH_LAUNCH_H
#define GAIT_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include <gait/error.h>

struct launch {
    pid_t pid;
    int wait_status; // as waitpid() gives it
    int exec_error;  // why the program did not start: errno, 0 if it did
};

// Runs `arguments` (NULL-terminated) with this process's environment until it
// ends. Fails only when no process could be made. Afterwards the signals that
// were passed on stay blocked, so that the caller can finish its work.
GAIT_CHECK int launch_program(char *const *arguments, struct launch *ret_launch);

// The same, and `started` (may be NULL) is told of the program once it runs.
// `has_orphans`: what it leaves behind becomes our child instead of init's, so
// that it is still known where it comes from.
struct launch_watcher {
    void (*started)(void *context, pid_t pid);
    void *context;
    bool has_orphans;
};
GAIT_CHECK int launch_watched(char *const *arguments, const struct launch_watcher *watcher,
                              struct launch *ret_launch);

// Says why `program` did not start, with what was probably meant, and returns
// what a shell would: EXIT_NOT_FOUND or EXIT_CANNOT_RUN.
int launch_refused(const char *program, int exec_error);

// What a shell would report: the exit code, or 128 + signal.
int launch_exit_code(const struct launch *launch);

#endif
