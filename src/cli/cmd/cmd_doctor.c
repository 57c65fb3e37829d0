// SPDX-License-Identifier: Apache-2.0
// `gait doctor`: what recording will be like on this machine, for a person who
// wonders and for a bug report.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "answer/sheet.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/doctor_pythons.h"
#include "cli/io/doctor_torch.h"
#include "cli/io/sheet_output.h"
#include "cli/version.h"
#include "collect/collector.h"
#include "format/frame.h"
#include "format/ring_file.h"
#include "launch/shared_memory.h"
#include "load/repair/dead_rings.h"
#include "meter/meter_set.h"
#include "sample/remote/attach.h"

struct doctor_values {
    bool is_clean, is_patches;
};

enum { SMALL_ROOM = 64 << 20 };

struct check {
    const char *name;
    bool is_fine;
    char text[300];
    bool is_to_clean; // what can be set right here
    bool has_rings;
    struct dead_rings rings;
};

static void answer(struct check *check, bool is_fine, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void answer(struct check *check, bool is_fine, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    check->is_fine = is_fine;
    vsnprintf(check->text, sizeof check->text, format, args);
    va_end(args);
}

static void check_versions(struct check *check)
{
    struct utsname system;
    check->name = "version";
    if (uname(&system))
        memset(&system, 0, sizeof system);
    answer(check, true,
           "gait " GAIT_VERSION ", trace format %d, " GAIT_COMPILER "; %.40s %.60s on %.20s",
           FRAME_VERSION, system.sysname, system.release, system.machine);
}

// What the kernel reads.
static const char *kernel_clock(char *name, int room)
{
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file || !fgets(name, room, file))
        snprintf(name, (size_t)room, "of an unknown source");
    if (file)
        fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return name;
}

static void check_clock(struct check *check)
{
    enum { READS = 10000 };
    char kernel[32];
    check->name = "clock";
    clock_setup();
    uint64_t before = clock_raw_ns();
    for (int i = 0; i < READS; i++)
        __asm__ volatile("" ::"r"(clock_now()));
    double each = (double)(clock_raw_ns() - before) / READS;
    if (clock_has_ticks)
        answer(check, true, "the processor's tick counter, steady: %.1f ns a reading", each);
    else
        answer(check, false,
               "the kernel's (%s), as the processor's ticks are not steady: %.1f ns a reading, "
               "which spans cost more",
               kernel_clock(kernel, sizeof kernel), each);
}

static void check_shared_memory(struct check *check)
{
    struct statvfs all;
    uint64_t bytes;
    const char *why = shared_memory_why_none(&bytes);
    check->name = "shared memory";
    if (why || statvfs(RING_FILE_SHARED_MEMORY, &all)) {
        answer(check, false,
               RING_FILE_SHARED_MEMORY ": %s; buffers are in the run directory instead, where they "
                                       "also survive a kill but use its disk",
               why ? why : strerror(errno));
        return;
    }
    bool is_roomy = bytes >= SMALL_ROOM;
    answer(check, is_roomy, "%s of %s free%s", units_bytes(bytes).text,
           units_bytes((uint64_t)all.f_blocks * all.f_frsize).text,
           is_roomy ? ": what was recorded survives a kill"
                    : ": little, so buffers may have to go into the run directory; give a "
                      "container more with --shm-size");
}

static void check_buffers(struct check *check)
{
    struct dead_rings *rings = &check->rings;
    char riddles[80] = "";
    check->name = "buffers";
    if (access(RING_FILE_SHARED_MEMORY, F_OK)) {
        answer(check, true, "not applicable: buffers are in the run directories");
        return;
    }
    check->has_rings = true;
    if (check->is_to_clean ? dead_rings_clean(RING_FILE_SHARED_MEMORY, rings)
                           : dead_rings_find(RING_FILE_SHARED_MEMORY, rings)) {
        answer(check, false, "%.250s", fail_text());
        return;
    }
    if (rings->riddle_count)
        snprintf(riddles, sizeof riddles, "; %" PRIu64 " belong to another container",
                 rings->riddle_count);
    uint64_t left = rings->count - rings->removed_count - rings->completed_count;
    if (check->is_to_clean)
        answer(check, !left,
               "dead processes left %" PRIu64 ", %s: %" PRIu64
               " removed after their shard was completed, %" PRIu64
               " removed without a shard, %" PRIu64 " kept%s",
               rings->count, units_bytes(rings->bytes).text, rings->completed_count,
               rings->removed_count, left, riddles);
    else if (rings->count)
        answer(check, false,
               "%" PRIu64 " left by dead process%s, %s in " RING_FILE_SHARED_MEMORY
               "; gait doctor --clean completes their shards and removes the buffers%s",
               rings->count, rings->count == 1 ? "" : "es", units_bytes(rings->bytes).text,
               riddles);
    else
        answer(check, true, "none left by dead processes, %" PRIu64 " in use%s", rings->live_count,
               riddles);
}

static void check_limits(struct check *check)
{
    struct rlimit files, size;
    check->name = "limits";
    if (getrlimit(RLIMIT_NOFILE, &files) || getrlimit(RLIMIT_FSIZE, &size)) {
        answer(check, false, "not known: %s", strerror(errno));
        return;
    }
    bool is_enough = files.rlim_cur >= 32;
    if (size.rlim_cur == RLIM_INFINITY)
        answer(check, is_enough, "%llu open files, files of any size",
               (unsigned long long)files.rlim_cur);
    else
        answer(check, false, "%llu open files, files of at most %s: longer recordings are cut off",
               (unsigned long long)files.rlim_cur, units_bytes(size.rlim_cur).text);
}

static void check_directory(struct check *check)
{
    struct statvfs room;
    check->name = "directory";
    if (access(".", W_OK)) {
        answer(check, false, "runs cannot be recorded here (%s): use gait run -o DIR",
               strerror(errno));
        return;
    }
    if (statvfs(".", &room))
        answer(check, true, "can be written");
    else
        answer(check, true, "can be written, %s free",
               units_bytes((uint64_t)room.f_bavail * room.f_frsize).text);
}

static void check_rights(struct check *check)
{
    check->name = "rights";
    answer(check, true, "recording needs none: no root, no perf events, no daemon");
}

static void check_sampling(struct check *check)
{
    check->name = "sampling";
    check->is_fine = attach_rights(check->text, sizeof check->text);
}

// Two reasons of those that most machines have; `gait run --energy` tells them all.
static void check_energy(struct check *check)
{
    struct meter_set set;
    size_t by_source[SOURCE_COUNT] = {0}, used = 0;
    char found[120] = "";
    check->name = "energy";
    if (meter_set_open(&set)) {
        answer(check, false, "%s", fail_text());
        return;
    }
    for (size_t i = 0; i < set.count; i++)
        by_source[set.devices[i].facts.values[METER_FROM] % SOURCE_COUNT]++;
    for (size_t i = 0; i < SOURCE_COUNT && used < sizeof found; i++)
        if (by_source[i])
            used += (size_t)snprintf(found + used, sizeof found - used, "%s%zu by %s",
                                     used ? ", " : "", by_source[i], meter_source_name(i));
    if (set.count)
        answer(check, true, "devices that tell it: %s", found);
    else
        answer(check, false, "gait energy stays empty: %.120s; %.120s", set.why[SOURCE_NVML],
               set.why[SOURCE_RAPL]);
    meter_set_close(&set);
}

static void check_package(struct check *check)
{
    check->name = "package";
    check->is_fine = doctor_pythons(check->text, sizeof check->text);
}

static void (*const checks[])(struct check *) = {
    check_versions,  check_clock,  check_shared_memory, check_buffers, check_limits,
    check_directory, check_rights, check_sampling,      check_energy,  check_package,
};

enum { CHECKS = sizeof checks / sizeof checks[0] };

static void look(struct check *check, size_t index)
{
    struct collector_probe probe;
    if (index < CHECKS) {
        checks[index](check);
        return;
    }
    const struct collector *collector = collectors[index - CHECKS];
    check->name = collector->name;
    collector->probe(&probe);
    answer(check, probe.is_ready, "collector: %s", probe.text);
}

static void put_data(struct sheet *sheet, const struct check *check)
{
    sheet_object(sheet, check->name);
    sheet_put(sheet, "fine", value_bool(check->is_fine));
    sheet_put(sheet, "text", value_text(check->text));
    if (check->has_rings) {
        sheet_put(sheet, "dead", value_uint(check->rings.count));
        sheet_put(sheet, "dead_bytes", value_uint(check->rings.bytes));
        sheet_put(sheet, "live", value_uint(check->rings.live_count));
        sheet_put(sheet, "completed", value_uint(check->rings.completed_count));
        sheet_put(sheet, "removed", value_uint(check->rings.removed_count));
    }
    sheet_end(sheet);
}

static const struct column columns[] = {
    {.label = "", .width = 4, .flags = COLUMN_LEFT},
    {.label = "", .width = 13, .flags = COLUMN_LEFT | COLUMN_TIGHT},
    {.label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
};
static const struct table table = {
    .heading = "Recording on this machine", .look = TABLE_FLAT, COLUMNS_ARE(columns)};

enum { MOST_CHECKS = 64 };

static void put_checks(struct sheet *sheet, bool is_to_clean)
{
    static struct check done[MOST_CHECKS];
    size_t count = 0;
    sheet_title(sheet, "gait doctor", NULL);
    for (; count < CHECKS + collector_count && count < MOST_CHECKS; count++) {
        done[count].is_to_clean = is_to_clean;
        look(&done[count], count);
        put_data(sheet, &done[count]);
    }
    sheet_table(sheet, &table);
    for (size_t i = 0; i < count; i++)
        sheet_row(sheet,
                  (struct value[]){value_text(done[i].is_fine ? "ok" : "note"),
                                   value_text(done[i].name), value_text(done[i].text)},
                  0);
    sheet_end(sheet);
}

// What is not this machine's but a program's.
static int look_at(const char *what, const struct doctor_values *values,
                   const struct sheet_wish *wish)
{
    int code = EXIT_OK, status;
    if (strcmp(what, "torch") == 0 && (wish->format || wish->output || wish->table))
        status =
            fail(GAIT_ERR_ARGUMENT,
                 "'gait doctor torch' answers as text or --json only: leave out the other options");
    else if (strcmp(what, "torch") == 0 && values->is_clean)
        status = fail(GAIT_ERR_ARGUMENT, "'--clean' does not go with 'torch'");
    else if (strcmp(what, "torch") == 0)
        status = doctor_torch(wish->is_json, values->is_patches, &code);
    else
        status = fail(GAIT_ERR_ARGUMENT, "unknown subject '%s'; the only one is 'torch'", what);
    return status ? command_refuse(&cmd_doctor) : code;
}

static int run(const void *given, const struct operands *operands)
{
    const struct doctor_values *values = given;
    struct sheet *sheet = NULL;
    if (operands->count || values->is_patches)
        return look_at(operands->count ? operands->texts[0] : "torch", values, &operands->wish);
    int status = sheet_wish_check(&operands->wish, NULL);
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        put_checks(sheet, values->is_clean);
    return sheet_answer(&cmd_doctor, &operands->wish, sheet, status);
}

static const char *const subjects[] = {"torch", NULL};

#define AT(field) offsetof(struct doctor_values, field)
static const struct option options[] = {
    {FLAG_ROW(
        0, "clean", AT(is_clean),
        "complete the shards of dead processes, and remove their buffers from shared memory")},
    {FLAG_ROW(0, "patches", AT(is_patches),
              "list the functions of PyTorch that gait replaces, and why")},
};

const struct command cmd_doctor = {
    .purpose = "check what recording will be like here",
    .summary = "Checks this machine: clock, shared memory, buffers of dead processes, limits, "
               "directory, rights, sampling, energy, Pythons, and what each collector can record.",
    .about = {"A killed process leaves its buffers in shared memory. The first command that reads "
              "its shard moves their records into the shard. If the run directory was deleted "
              "before that, the buffers stay: gait doctor counts them, and --clean removes them. "
              "It never touches buffers of running processes, other users or other containers. It "
              "does not find a run directory that was moved: read that with gait info first."},
    .examples = {{"gait doctor", "Check the machine before a long run."},
                 {"gait doctor torch",
                  "Show what gait can record of the PyTorch that the Python in PATH imports."},
                 {"gait doctor --patches",
                  "List the functions of PyTorch that gait replaces in a run."},
                 {"gait doctor --clean", "Free the shared memory that killed processes left."}},
    .exit_status = "0: success. 1: that Python has no torch. 2: wrong usage.",
    .line = {.command = "doctor",
             OPTIONS_ARE(options),
             .max_operands = 1,
             .operands = "[torch]",
             .choices = subjects,
             .has_sheet = true},
    .run = run,
};
