// SPDX-License-Identifier: Apache-2.0
// Only git knows whether files were changed, and in a large repository on a network's disk it
// takes seconds to see: it is given 200 ms. What a repository names git would start, and a
// repository is anybody's: hooks and monitors are switched off, and where config names filters
// (git-lfs is one), or a remote that missing objects come from, git is not asked.
#define _GNU_SOURCE
#include "launch/run_commit.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/slice.h"

enum { PATIENCE_MS = 200 };

// Variables would name another repository than the one whose files were read, and more config.
static char **copy_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (strncmp(environ[i], "GIT_", 4) != 0)
            copy[kept++] = environ[i];
    return copy;
}

static pid_t start_git(char *const *arguments, int output)
{
    char **environment = copy_environment();
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (!environment || posix_spawn_file_actions_init(&actions)) {
        free(environment);
        return -1;
    }
    int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (error || posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environment))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return pid;
}

// Of what it prints only the first byte matters: how many they are, or 0 at its end; -1: it
// takes too long.
static ssize_t wait_for_byte(int input, int64_t until_ns)
{
    struct pollfd end = {.fd = input, .events = POLLIN};
    char byte;
    int ready;
    do {
        int64_t left_ms = (until_ns - process_clock_ns()) / 1000000;
        ready = left_ms > 0 ? poll(&end, 1, (int)left_ms) : 0;
    } while (ready < 0);
    return ready > 0 ? read(input, &byte, 1) : -1;
}

enum { GIT_FAILS = -1, GIT_IS_SILENT, GIT_PRINTS };

// `code` is that of a git that has nothing to print. A git that is stuck in the kernel is not
// waited for; whoever waits for the program reaps it.
static int ask_git(char *const *arguments, int code, int64_t until_ns)
{
    int ends[2], how = 0;
    if (pipe2(ends, O_CLOEXEC))
        return GIT_FAILS;
    const pid_t pid = start_git(arguments, ends[1]);
    close(ends[1]);
    const ssize_t bytes = pid > 0 ? wait_for_byte(ends[0], until_ns) : -1;
    close(ends[0]);
    if (pid > 0 && bytes)
        kill(pid, SIGKILL);
    const bool has_ended = pid > 0 && waitpid(pid, &how, bytes < 0 ? WNOHANG : 0) == pid;
    if (bytes > 0)
        return GIT_PRINTS;
    const bool is_silent = !bytes && has_ended && WIFEXITED(how) && WEXITSTATUS(how) == code;
    return is_silent ? GIT_IS_SILENT : GIT_FAILS;
}

// " dirty", " clean", or "": not known. `git config` starts nothing, and obeys includes as
// `git status` does; it ends with 1 where no name is like that.
static const char *find_state(char *folder)
{
    char git[] = "git", in[] = "-C", config[] = "config", names[] = "--name-only",
         like[] = "--get-regexp", starts[] = "^filter\\.|partialclone|\\.promisor$", set[] = "-c",
         monitor[] = "core.fsmonitor=", hooks[] = "core.hooksPath=/dev/null",
         locks[] = "--no-optional-locks", status[] = "status", lines[] = "--porcelain",
         known[] = "--untracked-files=no", modules[] = "--ignore-submodules=all";
    char *const look[] = {git, in, folder, config, names, like, starts, NULL};
    char *const ask[] = {git,   in,     folder, set,   monitor, set, hooks,
                         locks, status, lines,  known, modules, NULL};
    const int64_t until_ns = process_clock_ns() + PATIENCE_MS * INT64_C(1000000);
    if (ask_git(look, 1, until_ns) != GIT_IS_SILENT)
        return "";
    const int answer = ask_git(ask, 0, until_ns);
    return answer == GIT_PRINTS ? " dirty" : answer == GIT_IS_SILENT ? " clean" : "";
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
        snprintf(out + strlen(out), 8, "%s", find_state(folder));
}
