// SPDX-License-Identifier: Apache-2.0
// `gait index`: makes the files of facts beside the shards, which the first question to each
// makes else.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <gait/trace.h>

#include "analyse/device/collectives.h"
#include "analyse/device/device_run.h"
#include "analyse/device/kernels.h"
#include "analyse/ops/op_sums.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "facts/facts_file.h"
#include "facts/lod_make.h"
#include "launch/run_finish.h"
#include "launch/say.h"
#include "load/run.h"
#include "load/shard_owner.h"

struct index_values {
    bool is_forced;
};

struct index_totals {
    uint32_t written, current, refused;
    uint64_t bytes;
};

// --- the questions -----------------------------------------------------------------------

// All that is kept, in one reading.
static int make_all(struct gait_trace *trace)
{
    enum { ASKS = DEVICE_RUN_ASKS + 4 };
    struct device_run run = {.turns.is_kept = true};
    struct kernels kernels = {.count = 0};
    struct collectives collectives;
    struct fact_ask asks[ASKS];
    collectives_begin(&collectives, NULL);
    int status = device_run_ask(&run, trace, asks);
    asks[DEVICE_RUN_ASKS] = (struct fact_ask){&kernels_consumer, &kernels};
    asks[DEVICE_RUN_ASKS + 1] = (struct fact_ask){&collectives_consumer, &collectives};
    asks[DEVICE_RUN_ASKS + 2] = (struct fact_ask){&op_sums_consumer, NULL};
    asks[DEVICE_RUN_ASKS + 3] = (struct fact_ask){&lod_consumer, NULL};
    if (!status)
        status = recorded_steps_find(&run.turns.recorded, trace, NULL, asks, ASKS);
    device_run_finish(&run);
    kernels_finish(&kernels);
    collectives_finish(&collectives);
    return status;
}

// --- the files ---------------------------------------------------------------------------

struct seen { // of a shard's file, before
    bool is_there;
    ino_t inode; // which may be given again
    struct timespec at;
};

static struct seen look(struct gait_trace *trace, uint32_t shard, bool goes, off_t *ret_bytes)
{
    char path[PATH_MAX];
    struct stat about;
    const int used =
        snprintf(path, sizeof path, "%s" FACTS_SUFFIX, trace->run.shards[shard]->info.path);
    *ret_bytes = 0;
    if (used < 0 || (size_t)used >= sizeof path || lstat(path, &about) || !S_ISREG(about.st_mode))
        return (struct seen){.is_there = false};
    if (goes && !own_file_remove(path))
        return (struct seen){.is_there = false};
    *ret_bytes = about.st_size;
    return (struct seen){true, about.st_ino, about.st_mtim};
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->is_there && a->inode == b->inode && a->at.tv_sec == b->at.tv_sec &&
           a->at.tv_nsec == b->at.tv_nsec;
}

static void count(struct gait_trace *trace, const struct seen *before, struct index_totals *totals)
{
    for (uint32_t i = 0; i < trace->run.shard_count; i++) {
        off_t bytes;
        if (shard_owner(trace, i) != i)
            continue;
        const struct seen seen = look(trace, i, false, &bytes);
        totals->bytes += (uint64_t)bytes;
        if (!seen.is_there) {
            totals->refused++;
            say("'%s' gets no file of facts: it is still recorded, damaged, or in a folder that "
                "cannot be written",
                trace->run.shards[i]->info.path);
        } else if (is_same(&before[i], &seen)) {
            totals->current++;
        } else {
            totals->written++;
        }
    }
}

static int index_all(struct gait_trace *trace, bool is_forced, struct index_totals *totals)
{
    off_t bytes;
    struct seen *before = calloc((size_t)trace->run.shard_count + 1, sizeof *before);
    if (!before)
        return fail(GAIT_ERR_MEMORY, "no memory for %u files", trace->run.shard_count);
    for (uint32_t i = 0; i < trace->run.shard_count; i++)
        before[i] = look(trace, i, is_forced, &bytes);
    trace->run.wants_facts = true;
    const int status = make_all(trace);
    if (!status)
        count(trace, before, totals);
    free(before);
    return status;
}

static void put(struct sheet *sheet, const char *path, const struct index_totals *totals)
{
    char text[160];
    snprintf(text, sizeof text, "%u written, %u up to date; %s of facts", totals->written,
             totals->current, units_bytes(totals->bytes).text);
    sheet_title(sheet, path, NULL);
    sheet_say(sheet, SAY_LEAD, text);
    sheet_put(sheet, "written", value_uint(totals->written));
    sheet_put(sheet, "up_to_date", value_uint(totals->current));
    sheet_put(sheet, "refused", value_uint(totals->refused));
    sheet_put(sheet, "bytes", value_uint(totals->bytes));
}

static int run(const void *given, const struct operands *operands)
{
    const struct index_values *values = given;
    const char *path = operands->texts[0];
    struct index_totals totals = {0};
    struct gait_trace *trace;
    struct sheet *sheet = NULL;
    if (sheet_wish_check(&operands->wish, path))
        return command_refuse(&cmd_index);
    if (run_finish_and_open(path, &trace))
        return command_refuse_trace(&cmd_index);
    int status = index_all(trace, values->is_forced, &totals);
    gait_trace_close(trace);
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        put(sheet, path, &totals);
    const int code = sheet_answer(&cmd_index, &operands->wish, sheet, status);
    return totals.refused ? EXIT_USAGE : code;
}

#define AT(field) offsetof(struct index_values, field)
static const struct option options[] = {
    {FLAG_ROW('f', "force", AT(is_forced), "make the files again even if they are up to date")},
};

const struct command cmd_index = {
    .purpose = "keep what was found in a run beside it, for fast answers",
    .summary = "Writes sums of events beside each shard of a run, from which answers come at once.",
    .about = {"For each process it writes x.gait-facts beside x.gait: sums of kernels and ops, "
              "steps, the "
              "breakdown and collectives, so that a question about all of a run reads no event. Of "
              "a rank "
              "with a million events and more the first such question writes it by itself.",
              "You can remove these files at any time; they contain no data of their own. gait "
              "writes one "
              "under another name and renames it when it is complete, and makes it again when the "
              "shard or "
              "gait's rules have changed."},
    .examples = {{"gait index run1", "Make the files of all processes of a run."}},
    .exit_status =
        "0: success. 2: wrong usage, unreadable input, or a file that cannot be written.",
    .line = {.command = "index", COMMAND_READS_PATH(options), .has_sheet = true},
    .is_rare = true,
    .run = run,
};
