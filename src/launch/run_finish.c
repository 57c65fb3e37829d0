// SPDX-License-Identifier: Apache-2.0
// The one place where the tool writes into shards.
#include "launch/run_finish.h"

#include <gait/trace.h>

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fail.h"
#include "launch/launch.h"
#include "load/repair/complete.h"

int run_finish(const char *directory, const struct launch *launch)
{
    char how[64];
    const struct complete_exit exit = {.pid = launch->pid, .json = how};
    if (WIFSIGNALED(launch->wait_status))
        snprintf(how, sizeof how, "{\"signal\": %d}", WTERMSIG(launch->wait_status));
    else
        snprintf(how, sizeof how, "{\"code\": %d}", WEXITSTATUS(launch->wait_status));
    return complete_directory(directory, &exit);
}

int run_finish_and_open(const char *path, struct gait_trace **ret_trace)
{
    struct stat about;
    int status = 0;
    if (stat(path, &about))
        about.st_mode = 0; // opening it will say why not
    if (S_ISDIR(about.st_mode))
        status = complete_directory(path, NULL);
    else if (S_ISREG(about.st_mode))
        status = complete_shard(path, NULL);
    // what cannot be made whole is read as it is, with the same answers
    if (status)
        fail_clear();
    return gait_trace_open(path, ret_trace);
}
