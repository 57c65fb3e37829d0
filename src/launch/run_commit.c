// SPDX-License-Identifier: Apache-2.0
// Only git knows whether files were changed, and in a large repository on a network's disk it
// takes seconds to see: it is given 200 ms. It runs no program that the repository names.
#define _GNU_SOURCE
#include "launch/run_commit.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/slice.h"

enum { PATIENCE_MS = 200 };

static pid_t start_git(char *folder, int output)
{
    char git[] = "git", in[] = "-C", set[] = "-c", monitor[] = "core.fsmonitor=false",
         locks[] = "--no-optional-locks", status[] = "status", lines[] = "--porcelain",
         known[] = "--untracked-files=no", modules[] = "--ignore-submodules=all";
    char *const arguments[] = {git,    in,    folder, set,     monitor, locks,
                               status, lines, known,  modules, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (error || posix_spawnp(&pid, git, &actions, NULL, arguments, environ))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

// Of what it prints only the first byte matters: how many they are, or 0 at its end; -1: it
// takes too long.
static ssize_t wait_for_byte(int input)
{
    const int64_t until_ns = process_clock_ns() + PATIENCE_MS * INT64_C(1000000);
    struct pollfd end = {.fd = input, .events = POLLIN};
    char byte;
    int ready, left_ms = PATIENCE_MS;
    do {
        ready = poll(&end, 1, left_ms);
        left_ms = (int)((until_ns - process_clock_ns()) / 1000000);
    } while (ready < 0 && left_ms > 0);
    return ready > 0 ? read(input, &byte, 1) : -1;
}

// " dirty", " clean", or "": not known. A git that is stuck in the kernel is not waited for;
// whoever waits for the program reaps it.
static const char *ask_git(char *folder)
{
    int ends[2], how = 0;
    if (pipe2(ends, O_CLOEXEC))
        return "";
    const pid_t pid = start_git(folder, ends[1]);
    close(ends[1]);
    const ssize_t bytes = pid > 0 ? wait_for_byte(ends[0]) : -1;
    close(ends[0]);
    if (pid > 0 && bytes)
        kill(pid, SIGKILL);
    const bool has_ended = pid > 0 && waitpid(pid, &how, bytes < 0 ? WNOHANG : 0) == pid;
    if (bytes > 0)
        return " dirty";
    return !bytes && has_ended && WIFEXITED(how) && !WEXITSTATUS(how) ? " clean" : "";
}

void run_commit_find(char *const *arguments, char out[RUN_COMMIT_BYTES])
{
    char folder[PATH_MAX] = ".";
    for (char *const *at = arguments; *at; at++) {
        const char *slash = strrchr(*at, '/');
        if (!slice_ends_with(slice_of(*at), ".py"))
            continue;
        if (slash)
            snprintf(folder, sizeof folder, "%.*s", (int)(slash - *at) + 1, *at);
        break;
    }
    out[0] = '\0';
    if (git_commit_of(folder, out))
        snprintf(out + strlen(out), 8, "%s", ask_git(folder));
}
