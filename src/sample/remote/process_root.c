// SPDX-License-Identifier: Apache-2.0
// /proc/PID/root and its kin: links that lead there whatever the names say.
#define _GNU_SOURCE
#include "sample/remote/process_root.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_link(const char *path, char *out, size_t room)
{
    const ssize_t bytes = readlink(path, out, room - 1);
    out[bytes > 0 ? bytes : 0] = '\0';
}

void process_root_program(int64_t pid, char *out, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
    read_link(path, out, room);
}

void process_root_ask(int64_t pid, struct process_root *ret_root)
{
    char path[64];
    struct stat ours, theirs;
    snprintf(path, sizeof path, "/proc/%lld/ns/mnt", (long long)pid);
    ret_root->is_ours = stat(path, &theirs) != 0 || stat("/proc/self/ns/mnt", &ours) != 0 ||
                        ours.st_ino == theirs.st_ino;
    snprintf(ret_root->path, sizeof ret_root->path, "/proc/%lld/root", (long long)pid);
    read_link(ret_root->path, ret_root->link, sizeof ret_root->link);
    if (!strcmp(ret_root->link, "/"))
        ret_root->link[0] = '\0';
}

void process_root_place(const struct process_root *root, const char *file, char *out, size_t room)
{
    const size_t above = strlen(root->link);
    if (above && !strncmp(file, root->link, above) && file[above] == '/')
        snprintf(out, room, "%s%s", root->path, file + above);
    else
        snprintf(out, room, "%s%s", root->is_ours ? "" : root->path, file);
}
