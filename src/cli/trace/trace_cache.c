// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/trace/trace_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "base/process.h"
#include "base/slice.h"
#include "format/frame.h"
#include "shard/folders.h"

#define MAKER 3 // goes up when the same trace becomes other shards
#define HEAD_BYTES 65536
#define MOST_BYTES ((size_t)64 << 20)
enum { PATH_DIGITS = 16, DAY_S = 24 * 3600 };

static int find_root(char ret_root[PATH_MAX])
{
    const char *own = getenv("GAIT_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && *own)
        snprintf(ret_root, PATH_MAX, "%.3000s/traces", own);
    else if (cache && *cache == '/')
        snprintf(ret_root, PATH_MAX, "%.3000s/gait/traces", cache);
    else if (home && *home)
        snprintf(ret_root, PATH_MAX, "%.3000s/.cache/gait/traces", home);
    else
        return fail(GAIT_ERR_MISSING, "there is no place for a cache: set GAIT_CACHE_DIR");
    const int status = folders_make(ret_root, 0700);
    if (status)
        return fail_because(status, "cannot make the cache '%s'", ret_root);
    return own_folder_is_private(ret_root)
               ? 0
               : fail(GAIT_ERR_IO, "the cache '%s' is not a folder that is yours alone", ret_root);
}

// Where a file is, and everything about it that changes with its content.
static int stamp(const char *path, struct buffer *where, struct buffer *state)
{
    static uint8_t head[HEAD_BYTES];
    char real[PATH_MAX];
    struct stat about = {0};
    ssize_t count = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file >= 0 && !fstat(file, &about))
        count = pread(file, head, sizeof head, 0);
    if (file >= 0)
        close(file);
    const char *name = realpath(path, real) ? real : path;
    const uint64_t words[] = {(uint64_t)about.st_size, (uint64_t)about.st_mtim.tv_sec,
                              (uint64_t)about.st_mtim.tv_nsec,
                              frame_hash(head, count > 0 ? (size_t)count : 0), MAKER};
    int status = buffer_append(where, name, strlen(name) + 1);
    return status ? status : buffer_append(state, words, sizeof words);
}

int trace_cache_find(const struct trace_import *import, char ret_folder[PATH_MAX])
{
    char root[PATH_MAX];
    struct buffer where, state;
    int status = find_root(root);
    buffer_init(&where, MOST_BYTES);
    buffer_init(&state, MOST_BYTES);
    for (size_t i = 0; i < import->count && !status; i++)
        status = stamp(import->files[i].path, &where, &state);
    if (!status)
        snprintf(ret_folder, PATH_MAX, "%.3900s/%0*" PRIx64 "-%016" PRIx64, root, PATH_DIGITS,
                 frame_hash(where.bytes, where.used), frame_hash(state.bytes, state.used));
    buffer_finish(&where);
    buffer_finish(&state);
    return status;
}

// Whether nobody is at work on a draft any more. Whose process is not to be seen from here, in
// another container perhaps, is left alone for a day.
static bool is_abandoned(const char *path)
{
    uint64_t owner[3]; // namespace, number, start
    struct stat about;
    char *at = strrchr(path, '.'); // of the ".draft" at the end
    while (at > path && at[-1] != '.')
        at--;
    for (size_t i = 0; i < 3; i++) {
        owner[i] = strtoull(at, &at, 16);
        at += i < 2 && *at == '-';
    }
    if (!strcmp(at, ".draft") && owner[0] && process_is_numbered_here(owner[0]) &&
        (int64_t)owner[2] >= 0)
        return !process_lives((int64_t)owner[1], (int64_t)owner[2]);
    return !lstat(path, &about) && time(NULL) - about.st_mtime > DAY_S;
}

void trace_cache_tidy(const char *folder)
{
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%s", folder);
    char *name = strrchr(root, '/');
    if (!name)
        return;
    *name++ = '\0';
    DIR *entries = opendir(root);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        char path[PATH_MAX];
        const bool is_draft = slice_ends_with(slice_of(entry->d_name), ".draft");
        const bool is_older = !is_draft && !strncmp(entry->d_name, name, PATH_DIGITS + 1) &&
                              strcmp(entry->d_name, name) != 0;
        snprintf(path, sizeof path, "%.3800s/%.255s", root, entry->d_name);
        if (is_older || (is_draft && is_abandoned(path)))
            own_folder_remove(path);
    }
    if (entries)
        closedir(entries);
}

static char temporary[PATH_MAX];

static void remove_temporary(void)
{
    own_folder_remove(temporary);
}

int trace_cache_temporary(char ret_folder[PATH_MAX])
{
    const int status = own_folder_temporary(temporary, "gait");
    if (status)
        return status;
    if (atexit(remove_temporary))
        return fail(GAIT_ERR_MEMORY, "no memory to tidy up '%s' at the end", temporary);
    snprintf(ret_folder, PATH_MAX, "%s", temporary);
    return 0;
}
