// SPDX-License-Identifier: Apache-2.0
// The program stays in our process group, so the terminal's own signals (^C,
// ^\, ^Z, hang-up) reach it without us, and job control is the shell's
// business as before. What somebody sends to us alone is passed on.
#define _GNU_SOURCE
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/slice.h"
#include "launch/exit_code.h"
#include "launch/say.h"
#include "launch/signal_group_probe.h"

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

// How signals were when we came: the program must find them so.
struct signals {
    sigset_t mask, waited;
    struct sigaction child;
};

static void block_signals(struct signals *signals)
{
    sigemptyset(&signals->waited);
    sigaddset(&signals->waited, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(&signals->waited, passed_on[i]);
    sigset_t blocked = signals->waited;
    sigaddset(&blocked, SIGPIPE); // a closed stderr must not end us
    sigaddset(&blocked, SIGXFSZ); // nor a shard that may not grow any more
    sigprocmask(SIG_BLOCK, &blocked, &signals->mask);
    // somebody who ignores SIGCHLD passes that on, and wait() would find nobody
    struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &usual, &signals->child);
}

static _Noreturn void become_program(char *const *arguments, const struct signals *signals,
                                     int error_pipe)
{
    sigaction(SIGCHLD, &signals->child, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    execvp(arguments[0], arguments);
    int error = errno;
    ssize_t wrote = write(error_pipe, &error, sizeof error);
    _exit(wrote == sizeof error ? 127 : 126);
}

// The errno of a failed exec, or 0: the pipe closes by itself when it succeeds.
static int read_exec_error(int pipe_end)
{
    int error = 0;
    ssize_t got;
    do
        got = read(pipe_end, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof error ? error : 0;
}

// The terminal sends to the whole group (the kernel is the sender), and what
// the program sends to its group it has received itself.
static bool reached_program_already(const siginfo_t *info, pid_t program)
{
    return info->si_code > 0 || info->si_pid == program;
}

// True when the program has ended. Reaps whoever else ends: orphans become ours
// in the first process of a container, and where the watcher wants them.
static bool reap(pid_t program, int *wait_status)
{
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        if (ended != program || WIFSTOPPED(status)) // held for its native frames
            continue;
        *wait_status = status;
        return true;
    }
    return ended < 0 && errno == ECHILD;
}

// What the whole group is sent, the program has received itself. Somebody may have
// sent it to us alone as well, as `timeout` does: that is one request, too.
static bool was_for_group(struct signal_group_probe *witness, int number)
{
    const struct timespec now = {0, 0};
    sigset_t again;
    if (!signal_group_probe_saw(witness, number))
        return false;
    sigemptyset(&again);
    sigaddset(&again, number);
    (void)sigtimedwait(&again, NULL, &now);
    return true;
}

static void wait_for(struct launch *launch, const struct signals *signals,
                     struct signal_group_probe *witness)
{
    while (!reap(launch->pid, &launch->wait_status)) {
        siginfo_t info;
        int number = sigwaitinfo(&signals->waited, &info);
        if (number <= 0 || number == SIGCHLD)
            continue;
        // asked in any case: what is pending there would count for the next one
        const bool is_for_group = was_for_group(witness, number);
        if (!is_for_group && !reached_program_already(&info, launch->pid))
            kill(launch->pid, number);
    }
}

int launch_program(char *const *arguments, struct launch *ret_launch)
{
    const struct launch_watcher nobody = {NULL, NULL, false};
    return launch_watched(arguments, &nobody, ret_launch);
}

int launch_watched(char *const *arguments, const struct launch_watcher *watcher,
                   struct launch *ret_launch)
{
    struct launch launch = {0};
    struct signals signals;
    struct signal_group_probe witness;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return fail(GAIT_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    if (watcher->has_orphans)
        prctl(PR_SET_CHILD_SUBREAPER, 1); // where it cannot be had they are lost to us
    fflush(NULL);
    block_signals(&signals);
    signal_group_probe_start(&witness);
    launch.pid = fork();
    if (launch.pid == 0)
        become_program(arguments, &signals, ends[1]);
    int fork_error = errno;
    close(ends[1]);
    if (launch.pid > 0) {
        launch.exec_error = read_exec_error(ends[0]);
        if (watcher->started && !launch.exec_error)
            watcher->started(watcher->context, launch.pid);
        wait_for(&launch, &signals, &witness);
        *ret_launch = launch;
    }
    close(ends[0]);
    signal_group_probe_end(&witness);
    if (launch.pid < 0)
        return fail(GAIT_ERR_IO, "cannot start a process: %s", strerror(fork_error));
    return GAIT_OK;
}

// People type the name of a script, or of a program in the folder they are in.
static const char *meant_by(const char *program, bool is_missing)
{
    struct stat about;
    if (stat(program, &about) || !S_ISREG(about.st_mode))
        return NULL;
    if (slice_ends_with(slice_of(program), ".py"))
        return "python ";
    return is_missing && !access(program, X_OK) ? "./" : NULL;
}

int launch_refused(const char *program, int exec_error)
{
    bool is_missing = exec_error == ENOENT || exec_error == ENOTDIR;
    const char *before = meant_by(program, is_missing);
    const char *why = is_missing ? "no such program" : strerror(exec_error);
    struct stat about;
    if (stat(program, &about) == 0 && S_ISDIR(about.st_mode))
        why = "it is a folder, not a program";
    if (before)
        say("cannot run '%s': %s; did you mean '%s%s'?", program, why, before, program);
    else
        say("cannot run '%s': %s", program, why);
    return is_missing ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

int launch_exit_code(const struct launch *launch)
{
    if (WIFSIGNALED(launch->wait_status))
        return 128 + WTERMSIG(launch->wait_status);
    return WEXITSTATUS(launch->wait_status);
}
