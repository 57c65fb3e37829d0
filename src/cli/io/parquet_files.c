// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/parquet_files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/own_file.h"

enum { NAME_BYTES = 3 * NAME_MAX + 8 };

static bool is_folder(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISDIR(about.st_mode);
}

static int make_folder(const char *path)
{
    const int error = own_folder_make(path, 0777);
    if (!error || (error == EEXIST && is_folder(path)))
        return GAIT_OK;
    return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", path, own_file_why(error));
}

// Without the endings that a trace's file has, of which it may have several.
static size_t end_of_name(const char *path, size_t begin, size_t end)
{
    static const char *const endings[] = {".gz", ".json", ".trace", ".pt", ".gait"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t bytes = strlen(endings[i]);
        if (end - begin > bytes && !memcmp(path + end - bytes, endings[i], bytes))
            end -= bytes;
    }
    return end;
}

// What a run is called: the last part of its path. As Hive writes the values of partitions,
// all but letters, digits and "-_." by their number.
static void name_run(const char *path, char out[NAME_BYTES])
{
    size_t end = strlen(path), used = 0;
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/')
        begin--;
    end = end_of_name(path, begin, end);
    for (size_t i = begin; i < end && used + 4 < NAME_BYTES; i++) {
        const unsigned char c = (unsigned char)path[i];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || strchr("-_.", c);
        used += (size_t)snprintf(out + used, 4, is_plain ? "%c" : "%%%02X", c);
    }
    out[used] = '\0';
    if (!used || !strcmp(out, ".") || !strcmp(out, ".."))
        snprintf(out, NAME_BYTES, "run");
}

// Of several processes of one rank each has a part.
static int part_number(struct gait_trace *trace, uint32_t index, const struct gait_shard_info *own,
                       uint32_t *ret_number)
{
    *ret_number = 0;
    for (uint32_t i = 0; i < index; i++) {
        struct gait_shard_info shard;
        int status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        *ret_number += shard.rank == own->rank || (shard.rank < 0 && own->rank < 0);
    }
    return GAIT_OK;
}

// `folder` becomes the file's path, and has room for PATH_MAX bytes.
static int write_shard(struct gait_trace *trace, const struct gait_export_options *options,
                       char *folder, uint32_t index)
{
    char path[PATH_MAX];
    struct gait_export_options given = *options;
    struct gait_shard_info shard;
    uint32_t number;
    int status = gait_trace_shard(trace, index, &shard);
    if (!status)
        status = part_number(trace, index, &shard, &number);
    if (status)
        return status;
    int used = shard.rank < 0
                   ? snprintf(path, sizeof path, "%s/rank=__HIVE_DEFAULT_PARTITION__", folder)
                   : snprintf(path, sizeof path, "%s/rank=%" PRId64, folder, shard.rank);
    if (used < 0 || (size_t)used + 32 > sizeof path)
        return fail(GAIT_ERR_ARGUMENT, "the folder name '%s' is too long", folder);
    status = make_folder(path);
    if (status)
        return status;
    snprintf(path + used, sizeof path - (size_t)used, "/part-%" PRIu32 ".parquet", number);
    given.process = index + 1;
    status = gait_export(trace, &given, path);
    memcpy(folder, path, sizeof path);
    return status;
}

int parquet_files_write(struct gait_trace *trace, const struct gait_export_options *options,
                        const struct parquet_place *place)
{
    const char *folder = place->folder;
    char name[NAME_BYTES], whole[PATH_MAX], written[PATH_MAX];
    if (!folder || !strcmp(folder, "-"))
        return fail(GAIT_ERR_ARGUMENT, "parquet is a folder of files: name it with -o");
    name_run(place->path, name);
    const int used = snprintf(whole, sizeof whole, "%s/run=%s", folder, name);
    if (used < 0 || (size_t)used >= sizeof whole)
        return fail(GAIT_ERR_ARGUMENT, "the folder name '%s' is too long", folder);
    int status = is_folder(folder) ? GAIT_OK : make_folder(folder);
    if (!status)
        status = make_folder(whole);
    for (uint32_t i = 0; !status && i < gait_trace_shard_count(trace); i++) {
        snprintf(written, sizeof written, "%s", whole);
        status = write_shard(trace, options, written, i);
        if (!status && !place->is_quiet)
            puts(written);
    }
    return status;
}
