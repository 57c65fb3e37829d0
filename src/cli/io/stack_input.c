// SPDX-License-Identifier: Apache-2.0
// A file that begins like a shard is one; all else is read as lines.
#define _GNU_SOURCE
#include "cli/io/stack_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/slice.h"
#include "cli/frame/read_progress.h"
#include "launch/run_directory.h"
#include "launch/say.h"
#include "load/run.h"

#define READ_STEP ((size_t)256 << 10)
#define READ_ROOM ((size_t)5 << 20) // more than a line may have
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define SHARD_LINE "\x89GAIT\r\n"

static int read_shard(struct stack_set *set, const char *path)
{
    struct run *run = calloc(1, sizeof *run);
    int status = run ? run_open(run, path) : fail(GAIT_ERR_MEMORY, "no memory for '%s'", path);
    if (status == 0) {
        status = stack_set_add_run(set, run);
        run_close(run);
    }
    free(run);
    return status;
}

// One path as it is read. What a shard begins with is a line, so that nothing is read
// twice: not all can be.
struct reading {
    struct stack_set *set;
    const char *path;
    struct read_progress *progress;
    int fd;
    uint8_t *bytes;
    size_t used;
    bool is_skipping; // the rest of a line that is too long
    bool is_begun;    // its first line is known to be no shard's
    bool is_shard;
};

// A brace or a bracket, and behind it what no frame begins with: "[main];run 3" is a stack.
static bool is_json(const uint8_t *line, size_t bytes)
{
    size_t at[2], count = 0;
    for (size_t i = 0; i < bytes && count < 2; i++)
        if (!strchr(" \t\r", line[i]))
            at[count++] = i;
    if (!count || (line[at[0]] != '{' && line[at[0]] != '['))
        return false;
    return count < 2 || strchr(line[at[0]] == '{' ? "\"}" : "{[]", line[at[1]]);
}

static int add_line(struct reading *reading, const uint8_t *line, size_t bytes)
{
    const size_t shard_bytes = sizeof SHARD_LINE - 2; // without its end
    const size_t mark_bytes = sizeof BYTE_ORDER_MARK - 1;
    if (!reading->is_begun && bytes >= mark_bytes && !memcmp(line, BYTE_ORDER_MARK, mark_bytes)) {
        line += mark_bytes; // some editors put it there
        bytes -= mark_bytes;
    }
    if (!reading->is_begun && bytes == shard_bytes && !memcmp(line, SHARD_LINE, bytes))
        reading->is_shard = true;
    if (!reading->is_begun && is_json(line, bytes))
        return fail(GAIT_ERR_FORMAT,
                    "'%s' is JSON and no list of stacks; gait report reads it if it is a trace",
                    reading->path);
    reading->is_begun = true;
    if (reading->is_shard || !bytes || reading->is_skipping) {
        reading->is_skipping = false;
        return 0;
    }
    return stack_set_add_line(reading->set, (struct slice){line, bytes});
}

// All lines that are whole; the rest moves to the front.
static int add_lines(struct reading *reading, size_t from)
{
    const uint8_t *line = reading->bytes, *const end = reading->bytes + reading->used;
    const uint8_t *stop = memchr(reading->bytes + from, '\n', reading->used - from);
    int status = 0;
    while (stop && status == 0 && !reading->is_shard) {
        status = add_line(reading, line, (size_t)(stop - line));
        line = stop + 1;
        stop = memchr(line, '\n', (size_t)(end - line));
    }
    reading->used = (size_t)(end - line);
    if (reading->used == READ_ROOM && status == 0) {
        status = add_line(reading, line, reading->used); // no stack has as much
        reading->is_skipping = true;
        reading->used = 0;
    }
    memmove(reading->bytes, line, reading->used);
    return status;
}

static int read_lines(struct reading *reading)
{
    for (;;) {
        const size_t room = READ_ROOM - reading->used, from = reading->used;
        const ssize_t got =
            read(reading->fd, reading->bytes + from, room < READ_STEP ? room : READ_STEP);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(GAIT_ERR_IO, "cannot read '%s': %s", reading->path, strerror(errno));
        if (got == 0)
            return reading->used ? add_line(reading, reading->bytes, reading->used) : 0;
        reading->used += (size_t)got;
        read_progress_add(reading->progress, (uint64_t)got);
        int status = add_lines(reading, from);
        if (status || reading->is_shard)
            return status;
    }
}

static int read_file(struct stack_set *set, const char *path, struct read_progress *progress)
{
    struct reading reading = {.set = set,
                              .path = path,
                              .progress = progress,
                              .fd = open(path, O_RDONLY | O_CLOEXEC),
                              .bytes = malloc(READ_ROOM)};
    int status = 0;
    if (reading.fd < 0)
        status = fail(GAIT_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    else if (!reading.bytes)
        status = fail(GAIT_ERR_MEMORY, "no memory to read '%s'", path);
    else
        status = read_lines(&reading);
    if (status == 0)
        status = stack_set_end_lines(set);
    if (reading.fd >= 0)
        close(reading.fd);
    free(reading.bytes);
    return status == 0 && reading.is_shard ? read_shard(set, path) : status;
}

static int wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

// A file of a folder that cannot be read is told, and holds up none of the others.
static int read_entry(struct stack_set *set, const char *file, struct read_progress *progress)
{
    int status = read_file(set, file, progress);
    if (status == 0 || status == GAIT_ERR_MEMORY)
        return status;
    read_progress_clear(progress);
    say("%s; gait reads the other files of the folder", fail_text());
    fail_clear();
    return 0;
}

// Folders inside are not entered: what lies there is mostly another run, and stacks of
// several would be added up unasked. Nor is it kept quiet.
static int tell_folders(const struct stack_set *set, const char *path, int folders)
{
    const bool is_one = folders == 1;
    char words[128];
    if (!folders)
        return 0;
    snprintf(words, sizeof words, "its %d folder%s not read: name %s to read it", folders,
             is_one ? " is" : "s are", is_one ? "it" : "one");
    if (!set->entry_count && !set->bad_lines)
        return fail(GAIT_ERR_FORMAT, "'%s' contains no stacks; %s", path, words);
    say("'%s': %s", path, words);
    return 0;
}

static int read_folder(struct stack_set *set, const char *path, struct read_progress *progress)
{
    struct dirent **entries;
    int status = 0, folders = 0;
    const int count = scandir(path, &entries, wanted, alphasort);
    if (count < 0)
        return fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    const char *between = slice_ends_with(slice_of(path), "/") ? "" : "/";
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        struct stat about;
        snprintf(file, sizeof file, "%.3500s%s%.255s", path, between, entries[i]->d_name);
        free(entries[i]);
        if (status || stat(file, &about) != 0)
            continue;
        folders += S_ISDIR(about.st_mode);
        if (S_ISREG(about.st_mode))
            status = read_entry(set, file, progress);
    }
    free(entries);
    read_progress_clear(progress);
    return status || run_directory_is_one(path) ? status : tell_folders(set, path, folders);
}

static const char *long_words(const struct stack_set *set, char *out, size_t room)
{
    *out = '\0';
    if (set->long_lines)
        snprintf(out, room, " (%llu longer than %u MiB)", (unsigned long long)set->long_lines,
                 STACK_LINE_LIMIT >> 20);
    return out;
}

static int refuse_lines(const struct stack_set *set, const char *path)
{
    char more[64];
    long_words(set, more, sizeof more);
    if (set->bad_lines == 1 && set->long_lines)
        return fail(GAIT_ERR_FORMAT, "'%s' contains no stacks: its only line is longer than %u MiB",
                    path, STACK_LINE_LIMIT >> 20);
    if (set->bad_lines == 1)
        return fail(GAIT_ERR_FORMAT,
                    "'%s' contains no stacks: its only line is not 'frame;frame COUNT'", path);
    return fail(GAIT_ERR_FORMAT,
                "'%s' contains no stacks: none of its %llu lines is 'frame;frame COUNT'%s", path,
                (unsigned long long)set->bad_lines, more);
}

static int read_all(struct stack_set *set, const char *path)
{
    struct stat about;
    if (stat(path, &about))
        return fail(GAIT_ERR_MISSING, "cannot open '%s': %s", path, strerror(errno));
    struct read_progress progress;
    read_progress_begin(&progress, S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0);
    int status = S_ISDIR(about.st_mode) ? read_folder(set, path, &progress)
                                        : read_file(set, path, &progress);
    read_progress_clear(&progress);
    stack_set_settle_ranks(set);
    if (status || set->entry_count)
        return status;
    if (set->bad_lines)
        return refuse_lines(set, path);
    return fail(GAIT_ERR_FORMAT,
                "'%s' contains no stacks; gait record and gait run --sample 1000 record them",
                path);
}

static int open_as(struct stack_set *set, const char *path, bool keeps_lines)
{
    stack_set_init(set);
    set->keeps_lines = keeps_lines;
    int status = read_all(set, path);
    if (status)
        stack_set_finish(set);
    return status;
}

int stack_input_open(struct stack_set *set, const char *path)
{
    return open_as(set, path, false);
}

int stack_input_open_lines(struct stack_set *set, const char *path)
{
    return open_as(set, path, true);
}

static int read_phase(struct stack_set *set, const char *path, const char *phase)
{
    struct gait_trace *trace;
    int status = gait_trace_open(path, &trace);
    if (status)
        return status;
    bool has_samples = false;
    for (uint32_t i = 0; i < trace->run.shard_count; i++)
        has_samples = has_samples || !strcmp(trace->run.shards[i]->info.role, "sampler");
    if (!has_samples)
        status =
            fail(GAIT_ERR_MISSING,
                 "'%s' contains phases but no samples; gait run --sample 1000 records both", path);
    if (status == 0)
        status = stack_set_add_phase(set, trace, phase);
    if (status == 0 && !set->entry_count)
        status = fail(GAIT_ERR_MISSING,
                      "no sample is in '%s' because it was short; sample at a higher rate (gait "
                      "run --sample 10000)",
                      phase);
    gait_trace_close(trace);
    return status;
}

int stack_input_open_phase(struct stack_set *set, const char *path, const char *phase)
{
    if (!phase)
        return stack_input_open(set, path);
    stack_set_init(set);
    int status = read_phase(set, path, phase);
    if (status)
        stack_set_finish(set);
    return status;
}

void stack_input_tell_bad(const struct stack_set *set, const char *command, const char *path)
{
    char words[PATH_MAX + 192], more[64];
    if (!set->bad_lines)
        return;
    fflush(stdout);
    const int error = errno; // why not, for who asks later whether all was written
    snprintf(words, sizeof words, "%llu of %llu lines %s in '%s'%s",
             (unsigned long long)set->bad_lines, (unsigned long long)set->lines,
             set->bad_lines == 1 ? "is not a stack" : "are not stacks", path,
             long_words(set, more, sizeof more));
    say_of(command, words);
    errno = error;
}
