// SPDX-License-Identifier: Apache-2.0
// Which files of a directory end in a certain way.
#define _GNU_SOURCE
#include "load/file/directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fail.h"
#include "base/slice.h"

#define FILE_LIMIT 1048576
#define PATH_LIMIT 65536

static int add_path(struct directory *directory, struct arena *arena, const char *path,
                    const char *name)
{
    size_t length = strlen(path);
    struct buffer joined;
    char *text = NULL;

    buffer_init(&joined, PATH_LIMIT);
    int status =
        buffer_printf(&joined, "%s%s%s", path, length && path[length - 1] == '/' ? "" : "/", name);
    if (!status)
        text = arena_text(arena, joined.bytes, joined.used);
    buffer_finish(&joined);
    if (!text)
        return status ? status : GAIT_ERR_MEMORY;
    return ARRAY_ADD(directory->paths, directory->count, directory->capacity, FILE_LIMIT, &text);
}

static int compare_paths(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;

    return strverscmp(*a, *b); // rank2 comes before rank10
}

static int fail_to_read(const char *path, int error)
{
    return fail(error == ENOMEM ? GAIT_ERR_MEMORY : GAIT_ERR_IO, "cannot read directory '%s': %s",
                path, strerror(error));
}

int directory_list(struct directory *directory, struct arena *arena, const char *path,
                   const char *ending)
{
    struct stat about;
    DIR *stream;
    int status = 0;

    if (stat(path, &about) || !S_ISDIR(about.st_mode))
        return 0;
    directory->is_directory = true;
    stream = opendir(path);
    if (!stream)
        return fail_to_read(path, errno);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (!entry || status)
            break;
        if (slice_ends_with(slice_of(entry->d_name), ending))
            status = add_path(directory, arena, path, entry->d_name);
    }
    if (!status && errno)
        status = fail_to_read(path, errno);
    closedir(stream);
    ARRAY_SORT(directory->paths, directory->count, compare_paths);
    return status;
}

void directory_finish(struct directory *directory)
{
    if (!directory)
        return;
    free(directory->paths);
    *directory = (struct directory){0};
}
