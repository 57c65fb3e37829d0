// SPDX-License-Identifier: Apache-2.0
// A file that begins like a shard is one; all else is read as lines.
#define _GNU_SOURCE
#include "cli/stack_input.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "cli/say.h"
#include "format/frame.h"
#include "load/run.h"

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

static int add_line(struct stack_set *set, char *line, size_t bytes)
{
    if (line[bytes - 1] == '\n')
        bytes--;
    return bytes ? stack_set_add_line(set, (struct slice){(uint8_t *)line, bytes}) : 0;
}

// What a shard begins with is a line, so that nothing is read twice: not all can be.
static int read_file(struct stack_set *set, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return fail(GAIT_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    ssize_t got = getline(&line, &room, file);
    if (got == sizeof SHARD_LINE - 1 && !memcmp(line, SHARD_LINE, (size_t)got))
        status = read_shard(set, path);
    else
        for (; status == 0 && got > 0; got = getline(&line, &room, file))
            status = add_line(set, line, (size_t)got);
    if (status == 0 && ferror(file))
        status = fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    free(line);
    fclose(file);
    return status;
}

static int wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int read_folder(struct stack_set *set, const char *path)
{
    struct dirent **entries;
    int status = 0;
    const int count = scandir(path, &entries, wanted, alphasort);
    if (count < 0)
        return fail(GAIT_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        struct stat about;
        snprintf(file, sizeof file, "%.3500s/%.255s", path, entries[i]->d_name);
        if (status == 0 && stat(file, &about) == 0 && S_ISREG(about.st_mode))
            status = read_file(set, file);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int read_all(struct stack_set *set, const char *path)
{
    struct stat about;
    if (stat(path, &about))
        return fail(GAIT_ERR_MISSING, "cannot open '%s': %s", path, strerror(errno));
    int status = S_ISDIR(about.st_mode) ? read_folder(set, path) : read_file(set, path);
    if (status || set->entry_count)
        return status;
    if (set->bad_lines)
        return fail(GAIT_ERR_FORMAT,
                    "'%s' holds no stacks: none of its %llu lines is 'frame;frame COUNT'", path,
                    (unsigned long long)set->bad_lines);
    return fail(GAIT_ERR_FORMAT,
                "'%s' holds no stacks; gait record takes some, and gait run --sample 1000", path);
}

int stack_input_open(struct stack_set *set, const char *path)
{
    int status = stack_set_init(set);
    if (status == 0)
        status = read_all(set, path);
    if (status)
        stack_set_finish(set);
    return status;
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
        status = fail(GAIT_ERR_MISSING,
                      "'%s' holds no samples beside its phases; gait run --sample 1000 takes some",
                      path);
    if (status == 0)
        status = stack_set_add_phase(set, trace, phase);
    if (status == 0 && !set->entry_count)
        status = fail(GAIT_ERR_MISSING,
                      "no sample fell into '%s': it was short, or its threads were blocked", phase);
    gait_trace_close(trace);
    return status;
}

int stack_input_open_phase(struct stack_set *set, const char *path, const char *phase)
{
    if (!phase)
        return stack_input_open(set, path);
    int status = stack_set_init(set);
    if (status == 0)
        status = read_phase(set, path, phase);
    if (status)
        stack_set_finish(set);
    return status;
}

void stack_input_tell_bad(const struct stack_set *set, const char *command, const char *path)
{
    char words[PATH_MAX + 128];
    if (!set->bad_lines)
        return;
    fflush(stdout);
    snprintf(words, sizeof words, "%llu of %llu lines are no stacks in '%s'",
             (unsigned long long)set->bad_lines, (unsigned long long)set->lines, path);
    say_of(command, words);
}
