// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/signal_group_probe.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOMENT_NS = 20 * 1000 * 1000, MOST_FILES = 1024 };

// It holds no file open: somebody may wait for the end of a pipe.
static void close_files(void)
{
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, 0u, ~0u, 0u))
        return;
#endif
    for (int file = 0; file < MOST_FILES; file++)
        close(file);
}

static _Noreturn void stand_by(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "gait-signals");
    close_files();
    while (getppid() == parent)
        pause();
    _exit(0);
}

void signal_group_probe_start(struct signal_group_probe *witness)
{
    const pid_t self = getpid();
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    witness->pid = fork();
    if (witness->pid == 0)
        stand_by(self);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void signal_group_probe_end(struct signal_group_probe *witness)
{
    if (witness->pid <= 0)
        return;
    kill(witness->pid, SIGKILL);
    waitpid(witness->pid, NULL, 0);
    witness->pid = -1;
}

static bool is_pending(pid_t pid, int number)
{
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *status = fopen(path, "re");
    while (status && !found && fgets(line, sizeof line, status))
        if (!strncmp(line, "ShdPnd:", 7))
            found = strtoull(line + 7, NULL, 16) >> (number - 1) & 1;
    if (status)
        fclose(status);
    return found;
}

bool signal_group_probe_saw(struct signal_group_probe *witness, int number)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    if (witness->pid <= 0)
        return false;
    nanosleep(&moment, NULL);
    if (!is_pending(witness->pid, number))
        return false;
    signal_group_probe_end(witness); // what is pending there is so for ever
    signal_group_probe_start(witness);
    return true;
}
