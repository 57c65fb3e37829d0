// SPDX-License-Identifier: Apache-2.0
// The one place where the tool writes into shards.
#include "cli/run_finish.h"

#include <stdio.h>
#include <sys/wait.h>

#include "cli/launch.h"
#include "load/complete.h"

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
