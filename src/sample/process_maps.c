// SPDX-License-Identifier: Apache-2.0
// /proc/PID/maps, line by line.
#define _GNU_SOURCE
#include "sample/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum rank { RANK_PROGRAM, RANK_LIBRARY, RANK_OTHER, RANK_NONE };

struct row {
    uint64_t start, end, offset;
    const char *path; // NULL: no file
};

// "55d0-55f0 r--p 00000000 fe:01 1234    /usr/bin/python3.11"
static bool parse(char *line, struct row *row)
{
    char *at = line;
    line[strcspn(line, "\n")] = '\0';
    row->start = strtoull(at, &at, 16);
    if (*at++ != '-')
        return false;
    row->end = strtoull(at, &at, 16);
    if (strnlen(at, 7) < 7)
        return false;
    row->offset = strtoull(at + 6, &at, 16);
    row->path = strchr(at, '/');
    return true;
}

static enum rank rank_of(const char *path, const char *program)
{
    const char *base = strrchr(path, '/') + 1;
    if (!strcmp(path, program))
        return RANK_PROGRAM;
    if (!strncmp(base, "libpython", 9))
        return RANK_LIBRARY;
    return strstr(base, "python") ? RANK_OTHER : RANK_NONE;
}

static void keep(struct mapped_file *out, int *count, const struct row *row, enum rank rank)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp(out[i].path, row->path))
            return;
    if (*count == PROCESS_MAPS_CANDIDATES)
        return;
    struct mapped_file *file = &out[(*count)++];
    file->start = row->start;
    file->end = row->end;
    file->is_program = rank == RANK_PROGRAM;
    snprintf(file->path, sizeof file->path, "%s", row->path);
}

// Reads the whole file: it may change between two looks.
int process_maps_candidates(int64_t pid, struct mapped_file *out)
{
    char path[64], program[PATH_MAX] = "", *line = NULL;
    size_t room = 0;
    int count = 0;
    snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
    ssize_t got = readlink(path, program, sizeof program - 1);
    program[got > 0 ? got : 0] = '\0';
    for (enum rank wanted = RANK_PROGRAM; wanted < RANK_NONE; wanted++) {
        struct row row;
        snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
        FILE *maps = fopen(path, "re");
        if (!maps)
            return errno == ENOENT ? -ESRCH : -errno;
        while (getline(&line, &room, maps) > 0)
            if (parse(line, &row) && row.path && row.offset == 0 &&
                rank_of(row.path, program) == wanted)
                keep(out, &count, &row, wanted);
        int error = ferror(maps) ? errno : 0;
        fclose(maps);
        if (error) {
            free(line);
            return -error;
        }
    }
    free(line);
    return count;
}

int process_maps_open(int64_t pid, const struct mapped_file *file)
{
    char path[PATH_MAX + 64];
    if (file->is_program)
        snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
    else
        snprintf(path, sizeof path, "/proc/%lld/root%s", (long long)pid, file->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "/proc/%lld/map_files/%llx-%llx", (long long)pid,
             (unsigned long long)file->start, (unsigned long long)file->end);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 ? fd : -errno;
}
