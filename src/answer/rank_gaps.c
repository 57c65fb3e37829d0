// SPDX-License-Identifier: Apache-2.0
#include "answer/rank_gaps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/job/job_files.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "vocabulary/metadata.h"

enum { MOST_TWICE = 4 }; // files that are named: a folder of windows has hundreds of one rank

static void say_same_ranks(struct sheet *sheet, const struct job_files *job, bool is_front)
{
    const struct job_file *files = job->rows;
    const enum say how = is_front ? SAY_ALERT : SAY_ITEM;
    char text[1000];
    size_t said = 0;
    for (size_t i = 1; i < job->count; i++) {
        // processes of one file have its rank
        if (files[i].rank != files[i - 1].rank || !strcmp(files[i].source, files[i - 1].source) ||
            said++ >= MOST_TWICE)
            continue;
        snprintf(text, sizeof text, "rank %" PRId64 " is said by %.400s and by %.400s",
                 files[i].rank, files[i - 1].source, files[i].source);
        sheet_say(sheet, how, text);
    }
    if (said <= MOST_TWICE)
        return;
    snprintf(text, sizeof text, "%s more say a rank that another says",
             units_count(said - MOST_TWICE).text);
    sheet_say(sheet, how, text);
}

static void say_missing(struct sheet *sheet, const struct job_files *job, bool is_front)
{
    char text[100];
    snprintf(text, sizeof text, "%zu of %" PRIu64 " %sare here", job->ranks,
             job->ranks + job->missing, is_front ? "ranks " : "");
    if (is_front)
        sheet_say(sheet, SAY_ALERT, text);
    else
        sheet_section(sheet, "Ranks", text);
}

// What all files of one job say alike: a member, with its quotes, or the value itself.
static const struct {
    const char *key, *member, *words;
} alike[] = {
    {"trace.distributedInfo", "\"world_size\"", "the world size"},
    {"trace.distributedInfo", "\"backend\"", "the backend"},
    {"trace.deviceProperties", "\"name\"", "the device"},
    {"trace.cuda_runtime_version", NULL, "CUDA's version"},
    {"trace.hip_runtime_version", NULL, "HIP's version"},
};

// As it is written; the first of that name, at whatever depth.
static struct slice fact_of(const char *json, const char *member)
{
    struct json_reader reader = json_reader_of(slice_of(json));
    struct json_token token;
    enum json_kind kind;
    while ((kind = json_next(&reader, &token)) > JSON_END)
        if ((kind == JSON_NUMBER || kind == JSON_TEXT) && (!member || slice_is(token.key, member)))
            return token.text;
    return slice_of(NULL);
}

// The first thing in which a file differs from one before it; false: none does.
static bool find_unlike(const struct gait_trace *trace, size_t fact, char *text, size_t room)
{
    const char *first_source = NULL;
    struct slice first = slice_of(NULL);
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *source = gait_trace_metadata(trace, i, meta.source);
        const char *json = gait_trace_metadata(trace, i, alike[fact].key);
        const struct slice value = source && json ? fact_of(json, alike[fact].member) : first;
        if (!value.count ||
            (first.count == value.count && !memcmp(first.bytes, value.bytes, value.count)))
            continue;
        if (!first.count) {
            first = value;
            first_source = source;
            continue;
        }
        snprintf(text, room, "%s is %.*s in %.300s and %.*s in %.300s", alike[fact].words,
                 (int)(first.count < 100 ? first.count : 100), (const char *)first.bytes,
                 first_source, (int)(value.count < 100 ? value.count : 100),
                 (const char *)value.bytes, source);
        return true;
    }
    return false;
}

static void say_unlike(struct sheet *sheet, const struct gait_trace *trace, bool is_front)
{
    char differs[900], text[1000];
    bool is_unlike = false;
    for (size_t i = 0; i < sizeof alike / sizeof alike[0] && !is_unlike; i++)
        is_unlike = find_unlike(trace, i, differs, sizeof differs);
    if (!is_unlike)
        return;
    snprintf(text, sizeof text, "the traces look like different runs, and are judged as one: %s",
             differs);
    if (is_front)
        sheet_say(sheet, SAY_ALERT, text);
    else
        sheet_section(sheet, "Runs", text);
}

int rank_gaps_say(struct sheet *sheet, const struct gait_trace *trace, bool is_front)
{
    struct job_files files;
    const int status = job_files_init(&files, trace);
    if (status)
        return status;
    if (files.missing)
        say_missing(sheet, &files, is_front);
    say_same_ranks(sheet, &files, is_front);
    say_unlike(sheet, trace, is_front);
    job_files_finish(&files);
    return GAIT_OK;
}

// --- of ranks that made steps ------------------------------------------------------------

static bool is_same_time(const struct torch_rank *a, const struct torch_rank *b)
{
    return a->recording.start_ns < b->recording.end_ns &&
           b->recording.start_ns < a->recording.end_ns;
}

static void say_twice(struct sheet *sheet, const struct torch_rank *a, const struct torch_rank *b)
{
    char text[200];
    snprintf(text, sizeof text,
             "processes %" PRId64 " and %" PRId64 " both say that they are rank %" PRId64, a->pid,
             b->pid, a->rank);
    sheet_say(sheet, SAY_ALERT, text);
}

struct rank_total {
    int64_t rank;
    uint64_t steps;
};

// Of all processes that were one rank, for one may be started again; ranks are in order.
static struct rank_total take_total(const struct torch_report *torch, size_t *at)
{
    struct rank_total total = {torch->ranks[*at].rank, 0};
    for (; *at < torch->rank_count && torch->ranks[*at].rank == total.rank; ++*at)
        total.steps += torch->ranks[*at].steps;
    return total;
}

// One step more or less is how a recording begins and ends.
static void say_uneven(struct sheet *sheet, const struct torch_report *torch)
{
    struct rank_total most = {-1, 0}, least = {-1, UINT64_MAX};
    char text[200];
    for (size_t at = 0; at < torch->rank_count;) {
        const struct rank_total total = take_total(torch, &at);
        if (total.rank >= 0 && total.steps > most.steps)
            most = total;
        if (total.rank >= 0 && total.steps < least.steps)
            least = total;
    }
    if (most.rank < 0 || most.steps - least.steps <= 1)
        return;
    snprintf(text, sizeof text,
             "ranks made uneven numbers of steps: rank %" PRId64 " made %s, rank %" PRId64
             " only %s",
             most.rank, units_count(most.steps).text, least.rank, units_count(least.steps).text);
    sheet_say(sheet, SAY_ALERT, text);
}

void rank_gaps_say_steps(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    for (size_t i = 1; torch && !report->is_imported && i < torch->rank_count; i++) {
        const struct torch_rank *a = &torch->ranks[i - 1], *b = &torch->ranks[i];
        if (a->rank >= 0 && a->rank == b->rank && a->pid != b->pid && is_same_time(a, b))
            say_twice(sheet, a, b);
    }
    if (torch)
        say_uneven(sheet, torch);
}
