// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/trace/trace_import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/sheet.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "base/process.h"
#include "base/slice.h"
#include "base/units.h"
#include "cli/frame/read_progress.h"
#include "launch/say.h"

#define MOST_FILES 100000
enum { MOST_SAID = 20 }; // files, beside an answer

static int add_file(struct trace_import *import, const char *path, bool is_named)
{
    struct stat about;
    const int status = ARRAY_RESERVE(import->files, import->room, import->count + 1, MOST_FILES);
    if (status)
        return status;
    struct trace_file *file = &import->files[import->count++];
    *file = (struct trace_file){.is_named = is_named, .result.rank = -1};
    snprintf(file->path, sizeof file->path, "%s", path);
    if (!stat(path, &about) && S_ISREG(about.st_mode))
        import->file_bytes += (uint64_t)about.st_size;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct trace_file *a = left, *b = right;
    return strcmp(a->path, b->path);
}

// Regular files alone, and none below: a link that goes in circles leads nowhere.
static int add_folder(struct trace_import *import, const char *folder)
{
    const size_t first = import->count;
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    int status = 0;
    if (!entries)
        return fail(GAIT_ERR_IO, "cannot read the folder '%s': %s", folder, strerror(errno));
    while (!status && (entry = readdir(entries))) {
        char path[PATH_MAX];
        struct stat about;
        snprintf(path, sizeof path, "%.3800s/%.255s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && !stat(path, &about) && S_ISREG(about.st_mode))
            status = add_file(import, path, false);
    }
    closedir(entries);
    if (!status && import->count == first)
        return fail(GAIT_ERR_MISSING, "there is no file in the folder '%s'", folder);
    qsort(import->files + first, import->count - first, sizeof *import->files, compare);
    return status;
}

int trace_import_find(struct trace_import *import, char *const *names, size_t count)
{
    int status = 0;
    *import = (struct trace_import){.count = 0};
    for (size_t i = 0; i < count && !status; i++) {
        const bool is_folder = own_folder_is_there(names[i]);
        status = is_folder ? add_folder(import, names[i]) : add_file(import, names[i], true);
    }
    return status;
}

void trace_import_finish(struct trace_import *import)
{
    free(import->files);
    *import = (struct trace_import){.count = 0};
}

static void take_progress(void *context, uint64_t bytes)
{
    read_progress_add(context, bytes);
}

static int import_all(struct trace_import *import, const struct ingest_wish *wish)
{
    struct read_progress progress;
    struct ingest_wish each = *wish;
    import->read = 0;
    import->is_unwritten = false;
    read_progress_begin(&progress, import->file_bytes);
    each.progress = take_progress;
    each.progress_context = &progress;
    for (size_t i = 0; i < import->count; i++) {
        struct trace_file *file = &import->files[i];
        each.trace = file->path;
        *file->why = '\0';
        if (!ingest_file(&each, &file->result)) {
            import->read++;
            continue;
        }
        snprintf(file->why, sizeof file->why, "%s", fail_text());
        if ((import->is_unwritten = file->result.is_unwritten))
            break;
    }
    read_progress_clear(&progress);
    if (import->is_unwritten)
        return GAIT_ERR_IO; // with the story of the last file
    if (import->read)
        return 0;
    if (import->count == 1)
        return fail(GAIT_ERR_FORMAT, "%s", import->files[0].why);
    return fail(GAIT_ERR_FORMAT, "none of %zu files could be read", import->count);
}

// A folder takes the place of an empty one, and of no other.
static int keep_draft(const char *draft, const char *run, bool is_file)
{
    const int error = is_file ? own_file_name(draft, run) : own_file_move(draft, run);
    return error ? fail(GAIT_ERR_IO, "cannot name '%s': %s", run, strerror(error)) : 0;
}

static bool is_free(const char *run, bool is_file)
{
    struct stat about;
    return lstat(run, &about) || (!is_file && S_ISDIR(about.st_mode) && own_folder_is_empty(run));
}

int trace_import_write(struct trace_import *import, const char *run)
{
    const bool is_file = slice_ends_with(slice_of(run), ".gait");
    char draft[PATH_MAX], salt[OWN_FILE_SALT];
    if (is_file && import->count != 1)
        return fail(GAIT_ERR_ARGUMENT, "%zu traces do not go into one shard: name a folder with -o",
                    import->count);
    import->is_unwritten = true; // as long as there is no place for it
    if (!is_free(run, is_file))
        return fail(GAIT_ERR_STATE, "'%s' is there already: choose another name with -o", run);
    int status = own_file_salt(salt);
    if (status)
        return status;
    const pid_t self = getpid(); // trace_cache_tidy() asks whether it still lives
    snprintf(draft, sizeof draft, "%.3800s.%s.%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".draft", run, salt,
             process_namespace(), (uint64_t)self, (uint64_t)process_start(self));
    const int error = is_file ? 0 : own_folder_make(draft, 0777);
    if (error)
        return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", draft, own_file_why(error));
    const struct ingest_wish wish = {.folder = draft, .file = is_file ? draft : NULL};
    status = import_all(import, &wish);
    if (!status) {
        status = keep_draft(draft, run, is_file);
        import->is_unwritten = status != 0;
    }
    if (status)
        own_folder_remove(draft);
    return status;
}

// --- the answer -------------------------------------------------------------

static const struct column file_columns[] = {
    {.key = "file", .label = "file", .width = 30, .flags = COLUMN_LEFT},
    {.key = "source"},
    {.key = "rank", .label = "rank", .width = 6},
    {.key = "shards", .label = "shards", .width = 7},
    {.key = "events", .label = "events", .unit = UNIT_COUNT, .width = 12},
    {.key = "trace_bytes", .label = "trace", .unit = UNIT_BYTES, .width = 9},
    {.key = "shard_bytes", .label = "shards'", .unit = UNIT_BYTES, .width = 9},
    {.key = "skipped"},
};
enum { FILE_COLUMNS = sizeof file_columns / sizeof file_columns[0] };

static const char *name_of(const struct trace_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

static void put_file(struct sheet *sheet, const struct trace_file *file)
{
    const bool is_read = !*file->why;
    const struct value cells[FILE_COLUMNS] = {
        value_text(name_of(file)),
        value_text(file->result.source),
        value_rank(file->result.rank),
        value_if(is_read, value_uint(file->result.shards)),
        value_if(is_read, value_uint(file->result.events)),
        value_if(is_read, value_uint(file->result.trace_bytes)),
        value_if(is_read, value_uint(file->result.shard_bytes)),
        value_if(!is_read, value_text(file->why)),
    };
    sheet_row(sheet, cells, is_read ? 0 : ROW_HIDDEN);
    sheet_object(sheet, "repairs");
    for (int i = 0; i < REPAIR_COUNT; i++)
        if (file->result.repairs.counts[i])
            sheet_put(sheet, repair_key((enum repair)i),
                      value_uint(file->result.repairs.counts[i]));
    sheet_end(sheet);
}

struct repairs trace_import_repairs(const struct trace_import *import)
{
    struct repairs all = {{0}};
    for (size_t i = 0; i < import->count; i++)
        if (!*import->files[i].why)
            repairs_add(&all, &import->files[i].result.repairs);
    return all;
}

static void say_repairs(struct sheet *sheet, const struct trace_import *import)
{
    const struct repairs all = trace_import_repairs(import);
    bool is_said = false;
    for (int i = 0; i < REPAIR_COUNT; i++) {
        char text[200];
        if (!all.counts[i])
            continue;
        if (!is_said)
            sheet_section(sheet, "Repaired", "");
        is_said = true;
        snprintf(text, sizeof text, "%s: %s", repair_words((enum repair)i),
                 units_count(all.counts[i]).text);
        sheet_say(sheet, SAY_ITEM, text);
    }
}

// The file and why it was skipped; its path is said once, and as its name.
static const char *skipped_text(const struct trace_file *file, char *text, size_t room)
{
    char path[PATH_MAX + 32];
    const char *why = file->why, *between = ": ";
    snprintf(path, sizeof path, "cannot import '%s': ", file->path);
    if (slice_starts_with(slice_of(why), path)) {
        why += strlen(path);
    } else {
        snprintf(path, sizeof path, "'%s' ", file->path);
        between = slice_starts_with(slice_of(why), path) ? " " : between;
        why += *between == ' ' ? strlen(path) : 0;
    }
    snprintf(text, room, "%s%s%s", name_of(file), between, why);
    return text;
}

void trace_import_say_skipped(const struct trace_import *import)
{
    size_t said = 0;
    for (size_t i = 0; i < import->count && said < MOST_SAID; i++) {
        char text[PATH_MAX + 1100];
        if (!*import->files[i].why)
            continue;
        say("skipped: %s", skipped_text(&import->files[i], text, sizeof text));
        said++;
    }
    if (import->count - import->read > said)
        say("skipped: %zu more files; 'gait import' lists them all",
            import->count - import->read - said);
}

static void say_skipped(struct sheet *sheet, const struct trace_import *import)
{
    bool is_said = false;
    for (size_t i = 0; i < import->count; i++) {
        char text[PATH_MAX + 1100];
        if (!*import->files[i].why)
            continue;
        if (!is_said)
            sheet_section(sheet, "Skipped", "");
        is_said = true;
        sheet_say(sheet, SAY_ITEM, skipped_text(&import->files[i], text, sizeof text));
    }
}

void trace_import_put(const struct trace_import *import, const char *run, struct sheet *sheet)
{
    static const struct table table = {.key = "files",
                                       .heading = "Traces",
                                       .columns = file_columns,
                                       .count = FILE_COLUMNS,
                                       .most = 40,
                                       .more = "more"};
    uint64_t events = 0, bytes = 0;
    char summary[200];
    for (size_t i = 0; i < import->count; i++) {
        events += *import->files[i].why ? 0 : import->files[i].result.events;
        bytes += *import->files[i].why ? 0 : import->files[i].result.shard_bytes;
    }
    snprintf(summary, sizeof summary, "%s events in %s", units_count(events).text,
             units_bytes(bytes).text);
    sheet_title(sheet, run, summary);
    sheet_put(sheet, "run", value_text(run));
    sheet_put(sheet, "events", value_uint(events));
    sheet_put(sheet, "bytes", value_uint(bytes));
    sheet_table(sheet, &table);
    for (size_t i = 0; i < import->count; i++)
        put_file(sheet, &import->files[i]);
    sheet_end(sheet);
    say_repairs(sheet, import);
    say_skipped(sheet, import);
}
