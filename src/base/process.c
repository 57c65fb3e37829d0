// SPDX-License-Identifier: Apache-2.0
// Asks the system.
#define _GNU_SOURCE
#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

uint64_t process_namespace(void)
{
    return os_pid_namespace();
}

bool process_is_numbered_here(uint64_t pid_namespace)
{
    return !pid_namespace || pid_namespace == os_pid_namespace();
}

size_t process_text(const char *path, char *out, size_t room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 1;
    while (fd >= 0 && got > 0 && used + 1 < room) {
        got = read(fd, out + used, room - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    out[used] = '\0';
    return used;
}

int64_t process_inner_id(int64_t pid, int64_t tid)
{
    char path[80], line[512];
    int64_t inner = tid;
    snprintf(path, sizeof path, "/proc/%lld/task/%lld/status", (long long)pid, (long long)tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        for (char *at = line + 6, *end;; at = end) {
            const long long number = strtoll(at, &end, 10);
            if (end == at)
                break;
            inner = number;
        }
    }
    fclose(file);
    return inner;
}

static bool is_of_namespace(int64_t pid, uint64_t pid_namespace)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%lld/ns/pid", (long long)pid);
    return !stat(path, &about) && about.st_ino == pid_namespace;
}

bool process_lives_in(uint64_t pid_namespace, int64_t pid, int64_t start)
{
    if (process_is_numbered_here(pid_namespace))
        return process_lives(pid, start);
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    bool lives = false;
    while (processes && !lives && (entry = readdir(processes))) {
        const int64_t outer = strtoll(entry->d_name, NULL, 10);
        lives = outer > 0 && process_lives(outer, start) && is_of_namespace(outer, pid_namespace) &&
                process_inner_id(outer, outer) == pid;
    }
    if (processes)
        closedir(processes);
    return lives;
}
