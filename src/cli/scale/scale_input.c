// SPDX-License-Identifier: Apache-2.0
// A folder is a run of gait where shards lie in it, a run of itwinai where its three folders
// do, one run of traces where traces do; else a folder of such.
#define _GNU_SOURCE
#include "cli/scale/scale_input.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "analyse/scale/itwinai_csv.h"
#include "analyse/scale/scale_trace.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "cli/trace/trace_door.h"
#include "ingest/ingest.h"
#include "launch/run_mark.h"

enum { MOST_DEPTH = 6, MOST_TABLES = 1 << 20, WHY_BYTES = 300 };
#define MOST_TABLE_BYTES ((size_t)256 << 20)

static const char *const itwinai_folders[] = {"epoch-time", "gpu-energy-data", "computation-data"};
enum { ITWINAI_FOLDERS = sizeof itwinai_folders / sizeof itwinai_folders[0] };

void scale_input_finish(struct scale_input *input)
{
    free(input->tables);
    *input = (struct scale_input){.set = NULL};
}

// --- paths ------------------------------------------------------------------------------

static bool ends_with(const char *path, const char *ending)
{
    return slice_ends_with(slice_of(path), ending);
}

// The last name of a path, without slashes behind it.
static void name_of(const char *path, char out[NAME_MAX + 1])
{
    char real[PATH_MAX];
    const char *whole = own_folder_is_there(path) && realpath(path, real) ? real : path;
    const char *slash = strrchr(whole, '/');
    snprintf(out, NAME_MAX + 1, "%.*s", NAME_MAX, slash && slash[1] ? slash + 1 : whole);
}

// The folder that a path lies in: "." of a bare name.
static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    else
        snprintf(path, PATH_MAX, ".");
}

static int skip(const struct scale_input *input, const char *path)
{
    char why[WHY_BYTES];
    snprintf(why, sizeof why, "%s", fail_text());
    fail_clear();
    return scale_set_skip(input->set, path, why);
}

static bool is_wanted(struct scale_input *input, const char *path)
{
    char name[NAME_MAX + 1];
    const char *at = input->ids;
    size_t number = 0;
    if (!at)
        return true;
    name_of(path, name);
    for (bool is_last = false; !is_last && number < SCALE_MOST_IDS; number++) {
        const size_t length = strcspn(at, ",");
        is_last = !at[length];
        if (length == strlen(name) && !strncmp(at, name, length))
            return input->found[number] = true;
        at += length + !is_last;
    }
    return false;
}

// --- tables -----------------------------------------------------------------------------

// The whole file, with a byte of room behind it.
static int read_text(const char *path, char **ret_text, size_t *ret_bytes)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about)) {
        const int status = fail(GAIT_ERR_IO, "it cannot be read: %s", strerror(errno));
        if (file)
            fclose(file);
        return status;
    }
    const size_t bytes = about.st_size > 0 ? (size_t)about.st_size : 0;
    int status = !S_ISREG(about.st_mode)    ? fail(GAIT_ERR_FORMAT, "it is no file")
                 : bytes > MOST_TABLE_BYTES ? fail(GAIT_ERR_FORMAT, "it has more than 256 MiB")
                                            : GAIT_OK;
    char *text = status ? NULL : malloc(bytes + 1);
    if (!status && !text)
        status = fail(GAIT_ERR_MEMORY, "no memory for its %zu bytes", bytes);
    if (!status) {
        *ret_bytes = fread(text, 1, bytes, file);
        *ret_text = text;
    }
    fclose(file);
    return status;
}

static int keep_table(struct scale_input *input, const char *path, const char *run)
{
    int status =
        ARRAY_RESERVE(input->tables, input->table_capacity, input->table_count + 1, MOST_TABLES);
    if (status)
        return status;
    const struct scale_table table = {scale_set_text(input->set, path),
                                      scale_set_text(input->set, run)};
    if (!table.path || !table.run)
        return GAIT_ERR_MEMORY;
    input->tables[input->table_count++] = table;
    return GAIT_OK;
}

static int read_table(struct scale_input *input, const char *path, const char *run)
{
    struct itwinai_file file = {.path = path, .id = run};
    int status = read_text(path, &file.text, &file.bytes);
    if (!status) {
        status = itwinai_csv_add(input->set, &file);
        free(file.text);
    }
    if (status && status != GAIT_ERR_MEMORY)
        return skip(input, path);
    return status ? status : keep_table(input, path, run);
}

// A table by itself belongs to the run whose folder it lies in.
static int read_lone_table(struct scale_input *input, const char *path)
{
    char folder[PATH_MAX], name[NAME_MAX + 1];
    snprintf(folder, sizeof folder, "%.4000s", path);
    cut_last(folder);
    name_of(folder, name);
    for (int i = 0; i < ITWINAI_FOLDERS; i++) {
        if (strcmp(name, itwinai_folders[i]) != 0)
            continue;
        cut_last(folder);
        break;
    }
    return read_table(input, path, folder);
}

// --- runs and traces --------------------------------------------------------------------

static int add_trace(const struct scale_input *input, struct gait_trace *trace, const char *path)
{
    struct run_report report;
    int status = run_report_make(&report, trace);
    const struct scale_run like = {
        .path = path, .id = path, .source = report.is_imported ? SCALE_OF_TRACE : SCALE_OF_GAIT};
    if (!status)
        status = scale_trace_add(input->set, trace, &report, &like);
    run_report_finish(&report);
    return status;
}

static int read_trace(struct scale_input *input, const char *path)
{
    struct gait_trace *trace;
    int status = trace_door_open(path, input->is_uncached, &trace);
    if (!status) {
        status = add_trace(input, trace, path);
        gait_trace_close(trace);
    }
    return status && status != GAIT_ERR_MEMORY ? skip(input, path) : status;
}

// --- folders ----------------------------------------------------------------------------

// What lies in a folder, by name; hidden files are nobody's runs.
struct listing {
    struct dirent **entries;
    int count;
};

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int list(struct listing *listing, const char *folder)
{
    listing->count = scandir(folder, &listing->entries, is_shown, alphasort);
    return listing->count < 0 ? fail(GAIT_ERR_IO, "it cannot be read: %s", strerror(errno))
                              : GAIT_OK;
}

static void drop(struct listing *listing)
{
    for (int i = 0; i < listing->count; i++)
        free(listing->entries[i]);
    free(listing->entries);
}

static int join(char out[PATH_MAX], const char *folder, const char *name)
{
    const int length = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return length < PATH_MAX ? GAIT_OK : fail(GAIT_ERR_ARGUMENT, "its path is too long");
}

static int read_itwinai_folder(struct scale_input *input, const char *run, const char *name)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct listing listing;
    int status = join(folder, run, name);
    if (status || !own_folder_is_there(folder))
        return status;
    status = list(&listing, folder);
    if (status)
        return skip(input, folder);
    for (int i = 0; !status && i < listing.count; i++) {
        status = join(path, folder, listing.entries[i]->d_name);
        if (status)
            continue;
        if (ends_with(path, ".csv"))
            status = read_table(input, path, run);
        else
            status = scale_set_skip(input->set, path, "it is no table: its name has no .csv");
    }
    drop(&listing);
    return status;
}

static bool is_of_itwinai(const char *folder)
{
    char path[PATH_MAX];
    for (int i = 0; i < ITWINAI_FOLDERS; i++)
        if (!join(path, folder, itwinai_folders[i]) && own_folder_is_there(path))
            return true;
    return false;
}

static int read_itwinai(struct scale_input *input, const char *folder)
{
    int status = GAIT_OK;
    for (int i = 0; !status && i < ITWINAI_FOLDERS; i++)
        status = read_itwinai_folder(input, folder, itwinai_folders[i]);
    return status;
}

struct content {
    bool has_shards, has_folders, has_traces;
};

static struct content look_into(const char *folder, const struct listing *listing)
{
    struct content content = {.has_shards = false};
    char path[PATH_MAX];
    if (!join(path, folder, RUN_MARK_NAME) && !access(path, F_OK))
        content.has_shards = true;
    for (int i = 0; i < listing->count; i++) {
        if (join(path, folder, listing->entries[i]->d_name))
            continue;
        content.has_shards |= ends_with(path, ".gait");
        content.has_folders |= own_folder_is_there(path);
        content.has_traces |= !content.has_traces && !ends_with(path, ".csv") &&
                              !own_folder_is_there(path) && ingest_knows(path);
    }
    return content;
}

static int read_path(struct scale_input *input, const char *path, int depth);

static int read_entries(struct scale_input *input, const char *folder,
                        const struct listing *listing, int depth)
{
    char path[PATH_MAX];
    int status = GAIT_OK;
    for (int i = 0; !status && i < listing->count; i++) {
        status = join(path, folder, listing->entries[i]->d_name);
        if (!status)
            status = read_path(input, path, depth + 1);
    }
    return status;
}

static int read_folder(struct scale_input *input, const char *folder, int depth)
{
    struct listing listing;
    if (list(&listing, folder))
        return skip(input, folder);
    const struct content content = look_into(folder, &listing);
    const bool is_itwinai = is_of_itwinai(folder);
    const bool is_run =
        content.has_shards || is_itwinai || (content.has_traces && !content.has_folders);
    int status = GAIT_OK;
    if (is_run && !is_wanted(input, folder))
        status = GAIT_OK;
    else if (content.has_shards)
        status = read_trace(input, folder);
    else if (is_itwinai)
        status = read_itwinai(input, folder);
    else if (is_run)
        status = read_trace(input, folder);
    else if (!listing.count)
        status = scale_set_skip(input->set, folder, "it is empty");
    else if (depth < MOST_DEPTH)
        status = read_entries(input, folder, &listing, depth);
    else
        status = scale_set_skip(input->set, folder, "it lies too deep in other folders");
    drop(&listing);
    return status;
}

static int read_path(struct scale_input *input, const char *path, int depth)
{
    if (own_folder_is_there(path))
        return read_folder(input, path, depth);
    if (!is_wanted(input, path))
        return GAIT_OK;
    if (ends_with(path, ".csv"))
        return read_lone_table(input, path);
    if (ends_with(path, ".gait") || ingest_knows(path))
        return read_trace(input, path);
    return scale_set_skip(input->set, path, "it is no run, no trace, and no table of itwinai's");
}

int scale_input_read(struct scale_input *input, const char *path)
{
    if (access(path, F_OK))
        return fail(GAIT_ERR_MISSING, "'%s': %s", path, strerror(errno));
    return read_path(input, path, 0);
}

int scale_input_check(const struct scale_input *input)
{
    const struct scale_set *set = input->set;
    const char *at = input->ids;
    for (size_t i = 0; at && i < SCALE_MOST_IDS; i++) {
        const size_t length = strcspn(at, ",");
        if (!input->found[i])
            return fail(GAIT_ERR_MISSING, "there is no run of the name '%.*s' (--run-ids)",
                        (int)length, at);
        at = at[length] ? at + length + 1 : NULL;
    }
    if (set->count)
        return GAIT_OK;
    if (set->skip_count)
        return fail(GAIT_ERR_MISSING, "there is nothing to report on; '%s': %s", set->skips[0].path,
                    set->skips[0].why);
    return fail(GAIT_ERR_MISSING, "there is nothing to report on");
}
