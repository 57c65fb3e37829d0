// SPDX-License-Identifier: Apache-2.0
// `gait trigger`: asks a program that runs for steps with ops on record. It writes
// into the shared memory that a recording process has; no signal is ever sent.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gait/record.h>

#include "answer/sheet.h"
#include "base/fail.h"
#include "base/process.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "format/ring_file.h"
#include "render/plain.h"

enum { MOST_DEPTH = 8, MOST_PROCESSES = 4096, ROOM = 8 * PATH_MAX, TOLD_PIDS = 64 };

struct trigger_values {
    int64_t steps;
};

struct search {
    uint64_t steps;
    uint32_t seen, asked;
    int64_t pids[TOLD_PIDS]; // the first ones that were asked
};

// The ring file that a line of /proc/PID/maps names, or NULL.
static char *ring_of_line(char *line)
{
    char *path = strchr(line, '/'), *name = path ? strrchr(path, '/') + 1 : NULL;
    if (!name || strncmp(name, "gait-", 5) != 0)
        return NULL;
    path[strcspn(path, "\n")] = '\0';
    const size_t length = strlen(name);
    return length > 5 && !strcmp(name + length - 5, ".ring") ? path : NULL;
}

static bool is_ring_of(const struct ring_file_header *header, int64_t pid)
{
    if (header->magic != RING_FILE_MAGIC || header->version != RING_FILE_VERSION)
        return false;
    // in another container its number is another one there
    return header->pid == pid || !process_is_numbered_here(header->pid_namespace);
}

// Seen through the process, whose files may lie in a container.
static bool ask_ring(int64_t pid, const char *ring, uint64_t steps)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/root%s", pid, ring);
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    struct ring_file_header *header =
        mmap(NULL, RING_FILE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const bool is_whole = lseek(file, 0, SEEK_END) >= RING_FILE_HEADER_BYTES;
    close(file);
    if (header == MAP_FAILED)
        return false;
    const bool is_his = is_whole && is_ring_of(header, pid);
    if (is_his)
        __atomic_store_n(&header->asked_steps, steps, __ATOMIC_RELEASE);
    munmap(header, RING_FILE_HEADER_BYTES);
    return is_his;
}

static bool ask_process(int64_t pid, uint64_t steps)
{
    char path[64], line[PATH_MAX + 256];
    bool was_asked = false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && !was_asked && fgets(line, sizeof line, maps)) {
        const char *ring = ring_of_line(line);
        was_asked = ring && ask_ring(pid, ring, steps);
    }
    if (maps)
        fclose(maps);
    return was_asked;
}

static void search_process(struct search *search, int64_t pid, int depth);

static void search_children(struct search *search, const char *path, int depth)
{
    char text[ROOM], *at = text, *end;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (;; at = end) {
        errno = 0;
        const long long child = strtoll(at, &end, 10);
        if (end == at || errno || child <= 0)
            return;
        search_process(search, child, depth + 1);
    }
}

// A process and those it started: gait run, torchrun and shells have none of their own.
static void search_process(struct search *search, int64_t pid, int depth)
{
    char path[128];
    if (depth > MOST_DEPTH || search->seen++ > MOST_PROCESSES)
        return;
    if (ask_process(pid, search->steps)) {
        if (search->asked < sizeof search->pids / sizeof search->pids[0])
            search->pids[search->asked] = pid;
        search->asked++;
    }
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%.20s/children", pid, task->d_name);
        search_children(search, path, depth);
    }
    if (tasks)
        closedir(tasks);
}

// All processes descend from the first: it is asked only where it is a run itself, as
// in a container whose first process is gait run or the training.
static int check_first(int64_t pid)
{
    char program[PATH_MAX];
    if (pid != 1)
        return 0;
    const ssize_t length = readlink("/proc/1/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/');
    if (slash && !strcmp(slash + 1, "gait"))
        return 0;
    return fail(GAIT_ERR_ARGUMENT,
                "process 1 is the parent of all processes and records nothing itself: give the pid "
                "of the training, or of its gait run, torchrun or shell");
}

static void print(FILE *out, const struct trigger_values *values, const struct search *search,
                  uint32_t told)
{
    char text[TOLD_PIDS * 24 + 128];
    size_t used =
        (size_t)snprintf(text, sizeof text, "asked process%s", search->asked == 1 ? "" : "es");
    for (uint32_t i = 0; i < told; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %" PRId64, search->pids[i]);
    if (search->asked > told)
        used += (size_t)snprintf(text + used, sizeof text - used, " and %" PRIu32 " more",
                                 search->asked - told);
    if (values->steps)
        used += (size_t)snprintf(text + used, sizeof text - used, " for %" PRId64 " step%s",
                                 values->steps, units_plural((uint64_t)values->steps));
    snprintf(text + used, sizeof text - used, "; they begin with the next step");
    plain_wrap(out, text, 2, 0);
}

static void put(struct sheet *sheet, const struct trigger_values *values,
                const struct search *search)
{
    const uint32_t told = search->asked < TOLD_PIDS ? search->asked : TOLD_PIDS;
    char pids[TOLD_PIDS * 24 + 8] = "[";
    FILE *lines = sheet_lines_begin(sheet);
    if (lines)
        print(lines, values, search, told);
    sheet_lines_end(sheet);
    sheet_title(sheet, "gait trigger", NULL);
    size_t used = 1;
    for (uint32_t i = 0; i < told; i++)
        used += (size_t)snprintf(pids + used, sizeof pids - used, "%s%" PRId64, i ? ", " : "",
                                 search->pids[i]);
    snprintf(pids + used, sizeof pids - used, "]");
    sheet_put(sheet, "asked", value_json(pids));
    sheet_put(sheet, "steps", value_int(values->steps));
}

static int run(const void *given, const struct operands *operands)
{
    const struct trigger_values *values = given;
    struct search search = {.steps = values->steps ? (uint64_t)values->steps : GAIT_TRIGGER_ANY};
    int64_t pid = 0;
    if (command_process(operands, &pid) || sheet_wish_check(&operands->wish, NULL))
        return command_refuse(&cmd_trigger);
    if (kill((pid_t)pid, 0) && errno == ESRCH) {
        fail(GAIT_ERR_MISSING, "process %" PRId64 " does not exist", pid);
        return command_refuse(&cmd_trigger);
    }
    if (pid == 1 && ask_process(pid, search.steps))
        search.pids[search.asked++] = pid;
    else if (check_first(pid))
        return command_refuse(&cmd_trigger);
    else
        search_process(&search, pid, 0);
    if (!search.asked) {
        fail(GAIT_ERR_MISSING,
             "process %" PRId64
             " and the processes it started do not record with gait, or belong to another user; "
             "gait sent nothing to them; start the program with gait run to record it",
             pid);
        return command_refuse(&cmd_trigger);
    }
    struct sheet *sheet = NULL;
    const int status = sheet_new(&sheet);
    if (!status)
        put(sheet, values, &search);
    return sheet_answer(&cmd_trigger, &operands->wish, sheet, status);
}

#define AT(field) offsetof(struct trigger_values, field)
static const struct option options[] = {
    {NUMBER_ROW('n', "steps", "N", 0, INT32_MAX, AT(steps),
                "number of steps (default: those of one cycle of its schedule)")},
};

const struct command cmd_trigger = {
    .purpose = "record steps of a running program",
    .summary =
        "Makes a recording process, and those it started, record the next steps with their ops.",
    .about = {"The process records these steps with their ops, from the next step on, as soon as "
              "its schedule is idle. If a gait.torch.profile() or @gait.profiler() is active, that "
              "one writes a trace of the steps; otherwise they are a window of the run. You can "
              "trigger again and again. gait.trigger() does the same from inside the program.",
              "PID may be that of gait run, torchrun or a shell: the request then goes to all "
              "processes below it that record. Process 1 is the parent of all, so the request goes "
              "to process 1 alone, unless it is gait run. gait sends no signal: it writes the "
              "request into the shared memory of the processes that record, and touches no other "
              "process."},
    .examples = {{"gait trigger 4711", "Record a few steps of that training now."},
                 {"gait trigger 4711 --steps 10", "Record ten steps."}},
    .exit_status = "0: success. 2: wrong usage, or no process that records.",
    .line = {.command = "trigger",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 1,
             .operands = "PID",
             .has_sheet = true},
    .is_rare = true,
    .run = run,
};
