// SPDX-License-Identifier: Apache-2.0
// Asks the system.
#include "base/process.h"

#include "base/os/os.h"

int64_t process_start(int64_t pid)
{
    return os_process_start(pid);
}

int64_t process_clock_ns(void)
{
    return os_boot_ns();
}

bool process_lives(int64_t pid, int64_t start)
{
    return os_process_lives(pid, start);
}

bool process_is_numbered_here(uint64_t pid_namespace)
{
    return !pid_namespace || pid_namespace == os_pid_namespace();
}
