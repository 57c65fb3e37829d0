// SPDX-License-Identifier: Apache-2.0
// `gait info`: what a trace is made of, without asking what it means.
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer/answer_parts.h"
#include "answer/answers.h"
#include "answer/rank_gaps.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "base/units.h"

#include "load/choice.h"
#include "vocabulary/metadata.h"

static int64_t length_of(int64_t start_ns, int64_t end_ns)
{
    int64_t length;
    if (end_ns < start_ns || __builtin_sub_overflow(end_ns, start_ns, &length))
        return 0;
    return length;
}

// The sums over all shards.
struct trace_totals {
    uint32_t shards, incomplete;
    uint64_t events, dropped, bytes;
    int64_t start_ns, end_ns; // 0, 0 when there is nothing
    int format_version;       // the newest
};

static int trace_totals_read(const struct gait_trace *trace, struct trace_totals *ret_totals)
{
    struct trace_totals totals = {.shards = gait_trace_shard_count(trace)};
    bool any = false;
    for (uint32_t i = 0; i < totals.shards; i++) {
        struct gait_shard_info shard;
        int status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        totals.events += shard.events;
        totals.dropped += shard.dropped;
        totals.bytes += shard.bytes;
        totals.incomplete += !shard.complete;
        if (shard.format_version > totals.format_version)
            totals.format_version = shard.format_version;
        if (shard.end_ns < shard.start_ns)
            continue;
        if (!any || shard.start_ns < totals.start_ns)
            totals.start_ns = shard.start_ns;
        if (!any || shard.end_ns > totals.end_ns)
            totals.end_ns = shard.end_ns;
        any = true;
    }
    *ret_totals = totals;
    return GAIT_OK;
}

static void put_title(struct sheet *sheet, const char *path, const struct trace_totals *totals)
{
    char when[40] = "an unknown time", text[300];
    const time_t seconds = (time_t)(totals->start_ns / 1000000000);
    struct tm utc;
    if ((totals->start_ns || totals->end_ns) && gmtime_r(&seconds, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    snprintf(text, sizeof text, "%" PRIu32 " shard%s, %s event%s in %s, format %d", totals->shards,
             units_plural(totals->shards), units_count(totals->events).text,
             units_plural(totals->events), units_bytes(totals->bytes).text, totals->format_version);
    sheet_title(sheet, path, text);
    snprintf(text, sizeof text, "from %s, %s long", when,
             units_ns(length_of(totals->start_ns, totals->end_ns)).text);
    sheet_say(sheet, SAY_LEAD, text);
}

static void put_totals(struct sheet *sheet, const struct gait_trace *trace,
                       const struct trace_totals *totals)
{
    sheet_put(sheet, "format_version", value_int(totals->format_version));
    sheet_put(sheet, "events", value_uint(totals->events));
    sheet_put(sheet, "dropped", value_uint(totals->dropped));
    sheet_put(sheet, "tracks", value_uint(gait_trace_track_count(trace)));
    // what the sampler says of itself, where a shard is a recording of it
    for (uint32_t i = 0; i < totals->shards; i++) {
        const char *sampler = gait_trace_metadata(trace, i, meta.sampler);
        if (sampler) {
            sheet_put(sheet, "sampler", value_json(sampler));
            return;
        }
    }
}

// --- shards ----------------------------------------------------------------------------

static const struct column shard_columns[] = {
    {.label = "", .width = 11, .flags = COLUMN_LEFT},
    {.key = "path"},
    {.key = "pid", .label = "pid", .width = 8},
    {.key = "host", .label = "host", .width = 8, .flags = COLUMN_LEFT},
    {.key = "rank"},
    {.key = "role", .label = "role", .width = 7, .flags = COLUMN_LEFT},
    {.key = "subject_pid"},
    {.key = "run_id"},
    {.key = "start_ns"},
    {.key = "end_ns"},
    {.label = "length", .unit = UNIT_NS, .width = 10},
    {.key = "events", .label = "events", .unit = UNIT_COUNT, .width = 10},
    {.key = "dropped", .label = "lost", .unit = UNIT_COUNT, .width = 9},
    {.key = "bytes", .label = "size", .unit = UNIT_BYTES, .width = 9},
    {.key = "overhead_cpu_ns"},
    {.key = "format_version"},
    {.key = "complete"},
};
enum { SHARD_COLUMNS = sizeof shard_columns / sizeof shard_columns[0] };

static void put_metadata(struct sheet *sheet, const struct gait_trace *trace, uint32_t shard)
{
    const char *key;
    sheet_object(sheet, "metadata");
    for (uint32_t i = 0; (key = gait_trace_metadata_key(trace, shard, i)); i++)
        sheet_put(sheet, key, value_json(gait_trace_metadata(trace, shard, key)));
    sheet_end(sheet);
}

static void put_shard(struct sheet *sheet, const struct gait_shard_info *shard)
{
    char name[40] = "-";
    if (shard->rank >= 0)
        snprintf(name, sizeof name, "rank %" PRId64, shard->rank);
    if (!shard->complete)
        snprintf(name + strlen(name), sizeof name - strlen(name), " *");
    const struct value cells[SHARD_COLUMNS] = {
        value_text(name),
        value_text(shard->path),
        value_int(shard->pid),
        value_text(shard->host),
        value_rank(shard->rank),
        value_text(shard->role),
        value_if(shard->subject_pid > 0, value_int(shard->subject_pid)),
        value_text(shard->run_id),
        value_int(shard->start_ns),
        value_int(shard->end_ns),
        value_int(length_of(shard->start_ns, shard->end_ns)),
        value_uint(shard->events),
        value_uint(shard->dropped),
        value_uint(shard->bytes),
        value_uint(shard->overhead_cpu_ns),
        value_int(shard->format_version),
        value_bool(shard->complete),
    };
    sheet_row(sheet, cells, 0);
}

static int put_shards(struct sheet *sheet, const struct gait_trace *trace)
{
    static const struct table table = {
        .key = "shards", .heading = "Shards", .columns = shard_columns, .count = SHARD_COLUMNS};
    int status = GAIT_OK;
    sheet_table(sheet, &table);
    for (uint32_t i = 0; i < gait_trace_shard_count(trace) && !status; i++) {
        struct gait_shard_info shard;
        status = gait_trace_shard(trace, i, &shard);
        if (status)
            break;
        put_shard(sheet, &shard);
        put_metadata(sheet, trace, i);
    }
    sheet_end(sheet);
    return status;
}

// --- what else there is to say ---------------------------------------------------------

static uint64_t count_in(const char *json, const char *key)
{
    return (uint64_t)fmin(json_member_count(json, key), 1e18);
}

// What a sampler says of its own work.
static void say_samples(struct sheet *sheet, const char *json)
{
    const double seconds = json_member_count(json, "seconds");
    const double rate = seconds > 0 ? json_member_count(json, "rounds") / seconds : 0;
    char text[300], each[120] = "";
    if (seconds > 0)
        snprintf(each, sizeof each, ", %s a second of the requested %s",
                 units_count((uint64_t)fmin(round(rate), 1e18)).text,
                 units_count(count_in(json, "rate_asked_hz")).text);
    snprintf(text, sizeof text, "%s in %s rounds%s", units_count(count_in(json, "samples")).text,
             units_count(count_in(json, "rounds")).text, each);
    sheet_section(sheet, "Samples", text);
    snprintf(text, sizeof text, "%s late, %s cut, %s torn, %s error%s",
             units_count(count_in(json, "late")).text, units_count(count_in(json, "cut")).text,
             units_count(count_in(json, "torn")).text, units_count(count_in(json, "errors")).text,
             units_plural(count_in(json, "errors")));
    sheet_say(sheet, SAY_PARAGRAPH, text);
}

static void say_damage(struct sheet *sheet, const struct gait_trace *trace)
{
    const uint32_t count = gait_trace_damage_count(trace);
    char text[2000];
    snprintf(text, sizeof text, "%" PRIu32 " place%s", count, units_plural(count));
    sheet_section(sheet, "Damage", count ? text : "none");
    for (uint32_t i = 0; i < count; i++) {
        struct gait_damage_info damage;
        if (gait_trace_damage(trace, i, &damage))
            continue;
        snprintf(text, sizeof text, "%.900s: %s from byte %" PRIu64 " on: %.900s", damage.path,
                 units_bytes(damage.bytes).text, damage.offset, damage.what);
        sheet_say(sheet, SAY_ITEM, text);
    }
}

// Names that found no room in a process's tables; their events have none.
static void say_lost_names(struct sheet *sheet, const struct gait_trace *trace)
{
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *lost = gait_trace_metadata(trace, i, meta.names_lost);
        struct gait_shard_info shard;
        char text[200];
        if (!lost || gait_trace_shard(trace, i, &shard))
            continue;
        snprintf(text, sizeof text,
                 "%s of pid %" PRId64 " are missing because the name table was full",
                 units_count(strtoull(lost, NULL, 10)).text, shard.pid);
        sheet_section(sheet, "Names", text);
    }
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct gait_trace *trace = asked->trace;
    struct trace_totals totals;
    int status = trace_totals_read(trace, &totals);
    if (status)
        return status;
    put_title(sheet, asked->path, &totals);
    put_totals(sheet, trace, &totals);
    answer_put_damage(sheet, trace);
    status = answer_put_identity(sheet, trace, false);
    if (!status)
        status = put_shards(sheet, trace);
    if (totals.incomplete)
        sheet_say(sheet, SAY_PARAGRAPH,
                  "* not finished: the process still runs, or ended without closing it");
    for (uint32_t i = 0; i < totals.shards; i++)
        if (gait_trace_metadata(trace, i, meta.sampler))
            say_samples(sheet, gait_trace_metadata(trace, i, meta.sampler));
    say_damage(sheet, trace);
    say_lost_names(sheet, trace);
    return status ? status : rank_gaps_say(sheet, trace, false);
}

const struct answer info_answer = {
    .summary = "Describes a shard or a run directory: which process wrote it, how much, and what "
               "is missing.",
    .about = {"Each line is one shard: rank, process, machine, role, length, events, lost events, "
              "size. A star marks a shard that is not finished: its process did not close it, and "
              "no command has completed it yet.",
              "Program is what the run says of itself: command line, tags, git commit, versions of "
              "Python and packages, machine, device; of a job the first rank's.",
              "Damage is listed with its file, offset and length. The figures count all intact "
              "data."},
    .examples = {{"gait info run1", "The shards of a run."},
                 {"gait info --json run1/node1-4711.gait", "Describe one shard, as JSON."}},
    .choice = CHOICE_RANKS | CHOICE_RANK,
    .put = put,
};
