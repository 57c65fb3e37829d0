// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/parquet_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/steps/shard_steps.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "export/parquet/parquet_rows.h"
#include "launch/say.h"
#include "load/shard_owner.h"

enum { NAME_BYTES = 3 * NAME_MAX + 8 };

static int make_folder(const char *path)
{
    const int error = own_folder_make(path, 0777);
    if (!error || (error == EEXIST && own_folder_is_there(path)))
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

// --- where a process's rows lie -----------------------------------------------------

// A run, of which either all processes lie in folders of their rank or none does.
struct layout {
    struct gait_trace *trace;
    const struct export_span *spans;
    const char *whole;    // the run's folder
    bool has_rank_column; // the files have the rank: no folder does
    const struct shard_steps *steps;
};

// How many of the first `count` processes lie in the folder of `rank`: of several processes of
// one rank each has a part. What devices did lies with the process that owns them.
static uint32_t count_parts(const struct layout *layout, uint32_t count, int64_t rank)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct gait_shard_info shard;
        found += shard_owner(layout->trace, i) == i &&
                 (layout->has_rank_column ||
                  (!gait_trace_shard(layout->trace, i, &shard) && shard.rank == rank));
    }
    return found;
}

// `before`: so many processes stand in front of it.
static int write_shard(const struct layout *layout, const struct gait_export_options *options,
                       uint32_t index, uint32_t before, char ret_path[PATH_MAX])
{
    struct gait_export_options given = *options;
    struct gait_shard_info shard;
    int status = gait_trace_shard(layout->trace, index, &shard);
    if (status)
        return status;
    int used = layout->has_rank_column
                   ? snprintf(ret_path, PATH_MAX, "%s", layout->whole)
                   : snprintf(ret_path, PATH_MAX, "%s/rank=%" PRId64, layout->whole, shard.rank);
    if (used < 0 || used + 32 > PATH_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the folder name '%s' is too long", layout->whole);
    status = make_folder(ret_path);
    if (status)
        return status;
    snprintf(ret_path + used, PATH_MAX - (size_t)used, "/part-%" PRIu32 ".parquet",
             layout->has_rank_column ? before : count_parts(layout, index, shard.rank));
    given.process = index + 1;
    given.steps = shard_steps_of(layout->steps, index, &given.step_count);
    return export_write(
        &(struct export_run){.trace = layout->trace, .options = &given, .spans = layout->spans},
        ret_path);
}

// --- what an earlier export left ----------------------------------------------------

// The number in "part-7.parquet", "rank=7"; -1: it is no such name.
static int64_t number_in(const char *name, const char *before, const char *after)
{
    const size_t begin = strlen(before);
    char *end;
    if (strncmp(name, before, begin) != 0 || name[begin] < '0' || name[begin] > '9')
        return -1;
    const int64_t number = strtoll(name + begin, &end, 10);
    return strcmp(end, after) ? -1 : number;
}

// Others name their parts alike: those of this tool say so in front of the length of their
// footer.
static bool is_ours(const char *path)
{
    enum { END = 32 };
    char end[END];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    const bool is_read = size >= END && pread(fd, end, END, size - END) == END;
    if (fd >= 0)
        close(fd);
    return is_read && !memcmp(end + END - 4, "PAR1", 4) && memmem(end, END, "\4gait", 5);
}

// The first `keep` parts in a folder are of this export; those behind them are of an earlier one.
static void drop_parts(const char *folder, uint32_t keep)
{
    char path[PATH_MAX];
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (number_in(entry->d_name, "part-", ".parquet") >= keep &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path &&
            is_ours(path))
            own_file_remove(path);
    }
    if (listing)
        closedir(listing);
}

// The run's files of before, which would be read as rows of this export. What is no part of a
// run stays.
static void drop_stale(const struct layout *layout)
{
    char path[PATH_MAX];
    const uint32_t count = gait_trace_shard_count(layout->trace);
    DIR *listing = opendir(layout->whole);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        struct stat about;
        if (strncmp(entry->d_name, "rank=", 5) != 0 ||
            snprintf(path, sizeof path, "%s/%s", layout->whole, entry->d_name) >=
                (int)sizeof path ||
            lstat(path, &about) || !S_ISDIR(about.st_mode))
            continue;
        const int64_t rank = number_in(entry->d_name, "rank=", "");
        drop_parts(path, layout->has_rank_column ? 0 : count_parts(layout, count, rank));
        own_folder_drop(path); // where it is empty
    }
    if (listing)
        closedir(listing);
    drop_parts(layout->whole, layout->has_rank_column ? count_parts(layout, count, 0) : 0);
}

// --- other runs beside it -----------------------------------------------------------

static bool has_rank_folder(const char *run)
{
    bool is_found = false;
    DIR *listing = opendir(run);
    for (struct dirent *entry; listing && !is_found && (entry = readdir(listing));)
        is_found = !strncmp(entry->d_name, "rank=", 5);
    if (listing)
        closedir(listing);
    return is_found;
}

// No reader takes the rank from folders of one run and from a column of the next.
static void warn_of_mixture(const char *folder, const struct layout *layout)
{
    char path[PATH_MAX];
    bool is_mixed = false;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && !is_mixed && (entry = readdir(listing));)
        is_mixed = !strncmp(entry->d_name, "run=", 4) &&
                   snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path &&
                   strcmp(path, layout->whole) != 0 &&
                   has_rank_folder(path) == layout->has_rank_column;
    if (is_mixed)
        say("'%s' has a %s, '%s' has %s: name them to readers one by one, or export one of "
            "them to another folder",
            path, layout->has_rank_column ? "folder for each rank" : "column of ranks",
            layout->whole, layout->has_rank_column ? "a column of them" : "folders for them");
    if (listing)
        closedir(listing);
}

static int write_shards(const struct layout *layout, const struct gait_export_options *options,
                        const struct parquet_place *place)
{
    char written[PATH_MAX];
    uint32_t before = 0;
    int status = GAIT_OK;
    for (uint32_t i = 0; !status && i < gait_trace_shard_count(layout->trace); i++) {
        if (shard_owner(layout->trace, i) != i)
            continue;
        status = write_shard(layout, options, i, before++, written);
        if (!status && !place->is_quiet)
            puts(written);
    }
    return status;
}

int parquet_files_write(struct gait_trace *trace, const struct gait_export_options *options,
                        const struct parquet_place *place)
{
    const char *folder = place->folder;
    char name[NAME_BYTES], whole[PATH_MAX];
    struct shard_steps steps = {.rows = NULL};
    const struct layout layout = {trace, place->spans, whole, parquet_rows_have_rank(trace),
                                  &steps};
    if (!folder || !strcmp(folder, "-"))
        return fail(GAIT_ERR_ARGUMENT, "parquet is a folder of files: name it with -o");
    name_run(place->path, name);
    const int used = snprintf(whole, sizeof whole, "%s/run=%s", folder, name);
    if (used < 0 || (size_t)used >= sizeof whole)
        return fail(GAIT_ERR_ARGUMENT, "the folder name '%s' is too long", folder);
    int status = own_folder_is_there(folder) ? GAIT_OK : make_folder(folder);
    if (!status)
        status = make_folder(whole);
    if (!status)
        status = shard_steps_find(&steps, trace);
    if (!status)
        status = write_shards(&layout, options, place);
    if (!status)
        drop_stale(&layout);
    if (!status && !place->is_quiet)
        warn_of_mixture(folder, &layout);
    shard_steps_finish(&steps);
    return status;
}
