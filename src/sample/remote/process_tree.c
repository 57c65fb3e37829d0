// SPDX-License-Identifier: Apache-2.0
// /proc/PID/task/TID/children; a kernel without it has no children for us.
#define _GNU_SOURCE
#include "sample/remote/process_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/about/secret.h"
#include "base/process.h"

static size_t children_of_task(int64_t pid, int64_t tid, int64_t *out, size_t room)
{
    char path[80], text[8192], *at = text, *end;
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%lld/task/%lld/children", (long long)pid, (long long)tid);
    process_text(path, text, sizeof text);
    for (; count < room; at = end) {
        const long long child = strtoll(at, &end, 10);
        if (end == at)
            break;
        out[count++] = child;
    }
    return count;
}

size_t process_tree_children(int64_t pid, int64_t *out, size_t room)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        const int64_t tid = strtoll(entry->d_name, NULL, 10);
        if (tid > 0)
            count += children_of_task(pid, tid, out + count, room - count);
    }
    closedir(tasks);
    return count;
}

// What stands behind `name` in the status of a thread; "" if nothing does.
static const char *status_field(int64_t tid, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)tid);
    process_text(path, text, room);
    const char *at = strstr(text, name);
    return at ? at + strlen(name) : "";
}

static int64_t status_number(int64_t tid, const char *name)
{
    char text[4096];
    return strtoll(status_field(tid, name, text, sizeof text), NULL, 10);
}

bool process_tree_ended(int64_t tid)
{
    char text[4096];
    const char *state = status_field(tid, "\nState:\t", text, sizeof text);
    return *state == '\0' || *state == 'Z' || *state == 'X';
}

int64_t process_tree_tracer(int64_t tid)
{
    return status_number(tid, "\nTracerPid:");
}

int64_t process_tree_group(int64_t tid)
{
    return status_number(tid, "\nTgid:");
}

void process_tree_name(int64_t pid, char *out, size_t room)
{
    char path[64], text[4096], shown[SECRET_SHOWN_BYTES];
    snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    size_t bytes = process_text(path, text, sizeof text), used = 0;
    while (bytes && text[bytes - 1] == '\0')
        bytes--;
    struct secret_line line = {.left = {(const uint8_t *)text, bytes}};
    out[0] = '\0';
    while (used < room && secret_line_next(&line, shown))
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? " " : "", shown);
    for (char *end = out; (end = strchr(end, '\n'));)
        *end = ' ';
}
