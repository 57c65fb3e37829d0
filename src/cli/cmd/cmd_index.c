// SPDX-License-Identifier: Apache-2.0
// `gait index`: sums of spans beside each shard, for those who look at a trace
// from far away.
#include <inttypes.h>
#include <stdio.h>

#include <gait/trace.h>

#include "answer/sheet.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "launch/run_finish.h"
#include "load/detail/lod.h"

struct index_values {
    bool is_forced;
};

struct index_totals {
    uint32_t written, current, refused;
    uint64_t spans, bytes;
};

// One shard; a refusal is told at once, so that the others go on.
static void index_shard(const char *path, bool is_forced, struct index_totals *totals)
{
    struct lod_result result;
    if (lod_write(path, is_forced, &result)) {
        totals->refused++;
        command_refuse(&cmd_index);
        return;
    }
    totals->bytes += result.bytes;
    totals->spans += result.spans;
    if (result.was_up_to_date)
        totals->current++;
    else
        totals->written++;
}

static void put(struct sheet *sheet, const char *path, const struct index_totals *totals)
{
    char text[160];
    snprintf(text, sizeof text,
             "%" PRIu32 " written (%" PRIu64 " spans), %" PRIu32 " up to date; %" PRIu64
             " bytes of index",
             totals->written, totals->spans, totals->current, totals->bytes);
    sheet_title(sheet, path, NULL);
    sheet_say(sheet, SAY_LEAD, text);
    sheet_put(sheet, "written", value_uint(totals->written));
    sheet_put(sheet, "up_to_date", value_uint(totals->current));
    sheet_put(sheet, "refused", value_uint(totals->refused));
    sheet_put(sheet, "spans", value_uint(totals->spans));
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
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        if (gait_trace_shard(trace, i, &shard) == 0)
            index_shard(shard.path, values->is_forced, &totals);
    }
    gait_trace_close(trace);
    const int status = sheet_new(&sheet);
    if (!status)
        put(sheet, path, &totals);
    const int code = sheet_answer(&cmd_index, &operands->wish, sheet, status);
    return totals.refused ? EXIT_USAGE : code;
}

#define AT(field) offsetof(struct index_values, field)
static const struct option options[] = {
    {FLAG_ROW('f', "force", AT(is_forced), "write the index again even if it is up to date")},
};

const struct command cmd_index = {
    .purpose = "sum up spans, for an overview of long traces",
    .summary = "Writes sums of spans beside each shard of a run, level by level.",
    .about = {"For each shard x.gait it writes x.gait-index with sums of 32, 256, 2,048 spans and "
              "so on. A viewer that shows hours of a trace on one screen then need not read the "
              "whole trace.",
              "You can remove these files at any time; they contain no data of their own. gait "
              "writes an index under another name and renames it when it is complete. It keeps an "
              "index that still fits its shard."},
    .examples = {{"gait index run1", "Index all shards of a run."}},
    .exit_status =
        "0: success. 2: wrong usage, unreadable input, or an index that cannot be written.",
    .line = {.command = "index", COMMAND_READS_PATH(options), .has_sheet = true},
    .is_rare = true,
    .run = run,
};
