// SPDX-License-Identifier: Apache-2.0
// /proc/PID/maps, line by line.
#define _GNU_SOURCE
#include "sample/remote/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample/remote/process_root.h"

enum rank { RANK_PROGRAM, RANK_LIBRARY, RANK_OTHER, RANK_NONE };

struct row {
    uint64_t start, end, offset, inode;
    const char *path; // NULL: no file
};

struct candidates {
    struct mapped_file *files;
    enum rank ranks[PROCESS_MAPS_CANDIDATES];
    int count;
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
    at += strspn(at, " ");
    at += strcspn(at, " "); // the device
    row->inode = strtoull(at, &at, 10);
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

static bool is_known(const struct mapped_file *files, int count, const char *path)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(files[i].path, path))
            return true;
    return false;
}

// Behind those of its rank and before the others, the last of which may fall out.
static void keep(struct candidates *found, const struct row *row, enum rank rank)
{
    if (is_known(found->files, found->count, row->path))
        return;
    int at = found->count;
    while (at && found->ranks[at - 1] > rank)
        at--;
    if (at == PROCESS_MAPS_CANDIDATES)
        return;
    int moved = found->count - at;
    if (found->count == PROCESS_MAPS_CANDIDATES)
        moved--;
    else
        found->count++;
    struct mapped_file *file = &found->files[at];
    memmove(file + 1, file, (size_t)moved * sizeof *file);
    memmove(&found->ranks[at + 1], &found->ranks[at], (size_t)moved * sizeof found->ranks[0]);
    found->ranks[at] = rank;
    file->start = row->start;
    file->end = row->end;
    file->inode = row->inode;
    file->is_program = rank == RANK_PROGRAM;
    snprintf(file->path, sizeof file->path, "%s", row->path);
}

// Once from end to end: the kernel looks at every page's owner to write a line.
int process_maps_candidates(int64_t pid, struct mapped_file *out)
{
    char path[64], program[PATH_MAX], *line = NULL;
    struct candidates found = {.files = out};
    size_t room = 0;
    process_root_program(pid, program, sizeof program);
    snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return errno == ENOENT ? -ESRCH : -errno;
    while (getline(&line, &room, maps) > 0) {
        struct row row;
        if (!parse(line, &row) || !row.path || row.offset != 0)
            continue;
        const enum rank rank = rank_of(row.path, program);
        if (rank != RANK_NONE)
            keep(&found, &row, rank);
    }
    const int error = ferror(maps) ? errno : 0;
    free(line);
    fclose(maps);
    return error ? -error : found.count;
}

// What has the name now may be another file.
static int open_same(const char *path, const struct mapped_file *file)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &about) == 0 && (file->is_program || about.st_ino == file->inode))
        return fd;
    close(fd);
    return -ESTALE;
}

int process_maps_open(int64_t pid, const struct mapped_file *file)
{
    char path[PATH_MAX + 64];
    struct process_root root;
    if (file->is_program) {
        snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
    } else {
        process_root_ask(pid, &root);
        process_root_place(&root, file->path, path, sizeof path);
    }
    int fd = open_same(path, file);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "/proc/%lld/map_files/%llx-%llx", (long long)pid,
             (unsigned long long)file->start, (unsigned long long)file->end);
    return open_same(path, file);
}
