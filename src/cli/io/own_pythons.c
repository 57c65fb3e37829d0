// SPDX-License-Identifier: Apache-2.0
// /proc/PID/exe can be read of a process that may be looked into, and of no other.
#define _GNU_SOURCE
#include "cli/io/own_pythons.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_name.h"
#include "sample/remote/process_tree.h"

static bool is_python(const char *number)
{
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%.20s/exe", number);
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    return !strncmp(file_name_of(target), "python", 6);
}

// A name of somebody's choosing must end no line of ours.
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            *text = ' ';
}

size_t own_pythons(struct own_python *out, size_t room)
{
    size_t count = 0;
    const struct dirent *entry;
    DIR *processes = opendir("/proc");
    while (processes && count < room && (entry = readdir(processes))) {
        const int64_t pid = strtoll(entry->d_name, NULL, 10);
        if (pid <= 0 || !is_python(entry->d_name))
            continue;
        out[count].pid = pid;
        process_tree_name(pid, out[count].line, sizeof out[count].line);
        make_one_line(out[count].line);
        count++;
    }
    if (processes)
        closedir(processes);
    return count;
}
