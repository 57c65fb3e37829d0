// SPDX-License-Identifier: Apache-2.0
// `gait critical-path`: what the length of each step is made of, piece by piece.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answers.h"
#include "answer/path/path_steps.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

struct critical_values {
    const char *step, *rank; // NULL: all of them
};

static const struct {
    const char *key, *words;
} kinds[] = {
#define X(identifier, key, words) {key, words},
    PATH_KINDS_OF_WORK(X) PATH_KINDS_OF_WAITS(X)
#undef X
};

// --- pieces ----------------------------------------------------------------------------

#define PIECE_COLUMNS(rank_label)                                                                  \
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 30},                               \
        {.key = "ns", .label = "time", .unit = UNIT_NS, .width = 9, .flags = COLUMN_SUMS},         \
        {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 8},                        \
        {.key = "rank", .label = (rank_label), .width = 6},                                        \
        {.label = "what", .flags = COLUMN_LEFT, .width = 20},                                      \
    {                                                                                              \
        .key = "kind"                                                                              \
    }

static const struct column piece_columns[] = {PIECE_COLUMNS(NULL)};
static const struct column rank_columns[] = {PIECE_COLUMNS("rank")};
static const struct table piece_table = {.key = "path",
                                         .heading = "Critical path",
                                         COLUMNS_ARE(piece_columns),
                                         .most = 25,
                                         .more = "shorter"};
static const struct table rank_table = {.key = "path",
                                        .heading = "Critical path",
                                        COLUMNS_ARE(rank_columns),
                                        .most = 25,
                                        .more = "shorter"};
static const struct table step_piece_table = {.key = "path", COLUMNS_ARE(piece_columns)};

static void put_pieces(struct sheet *sheet, const struct path_graph *graph,
                       const struct path_sums *sums, const struct table *table)
{
    const uint64_t all_ns = path_sums_total(sums);
    sheet_table(sheet, table);
    for (size_t i = 0; i < sums->count; i++) {
        const struct path_sum *sum = &sums->rows[i];
        const struct value cells[] = {
            value_text(sum->name),
            value_uint(sum->ns),
            value_share(sum->ns, all_ns),
            value_int(path_rank_of(graph, sum->shard)),
            value_text(kinds[sum->kind].words),
            value_text(kinds[sum->kind].key),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_kinds(struct sheet *sheet, const struct path_sums *sums)
{
    static const struct column columns[] = {
        {.key = "kind"},
        {.label = "", .flags = COLUMN_LEFT, .width = 24},
        {.key = "ns", .label = "total", .unit = UNIT_NS, .width = 11},
        {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 9},
        {.label = "", .unit = UNIT_SHARE, .flags = COLUMN_BAR, .width = 26},
    };
    static const struct table table = {
        .key = "kinds", .heading = "By kind", COLUMNS_ARE(columns), .falling_by = "ns"};
    const uint64_t all_ns = path_sums_total(sums);
    uint64_t ns[PATH_KINDS] = {0};
    for (size_t i = 0; i < sums->count; i++)
        ns[sums->rows[i].kind] += sums->rows[i].ns;
    sheet_table(sheet, &table);
    for (unsigned kind = 0; kind < PATH_KINDS; kind++) {
        const struct value share = value_share(ns[kind], all_ns);
        const struct value cells[] = {value_text(kinds[kind].key), value_text(kinds[kind].words),
                                      value_uint(ns[kind]), share, share};
        if (ns[kind])
            sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

// --- steps -----------------------------------------------------------------------------

static const struct column step_columns[] = {
    {.key = "name", .label = "step", .flags = COLUMN_LEFT, .width = 16},
    {.key = "number"},
    {.key = "rank", .label = "rank", .width = 6},
    {.key = "start_ns"},
    {.key = "length_ns", .label = "length", .unit = UNIT_NS, .width = 9},
    {.label = "", .unit = UNIT_SHARE, .width = 8},
    {.label = "most of it", .flags = COLUMN_LEFT | COLUMN_PLACE},
};
static const struct table step_table = {
    .key = "steps", .heading = "Steps", COLUMNS_ARE(step_columns), .most = 12, .more = "more"};

struct showing {
    struct sheet *sheet;
    const struct path_graph *graph;
    const struct path_job *job;
    const int64_t *end_ns;
    struct path_sums all;
    const char *step; // NULL: all of them
    size_t shown;
    bool has_rank;
};

// The path of one step, settled.
static int find_path(const struct showing *showing, const struct path_step *step,
                     struct path_sums *sums)
{
    *sums = (struct path_sums){.count = 0};
    int status = path_sums_add(sums, showing->graph, showing->end_ns, step);
    path_sums_settle(sums);
    return status;
}

static int put_step(const struct showing *showing, const struct path_step *step)
{
    const uint64_t length_ns = (uint64_t)step->end_ns - (uint64_t)step->start_ns;
    struct path_sums sums;
    char text[PATH_STEP_TEXT];
    int status = find_path(showing, step, &sums);
    if (!status && sums.count) {
        const struct value cells[] = {
            path_step_name(step, text),
            value_uint(step->number),
            value_int(path_rank_of(showing->graph, step->shard)),
            value_int(step->start_ns),
            value_uint(length_ns),
            value_share(sums.rows[0].ns, length_ns),
            value_text(sums.rows[0].name),
        };
        sheet_row(showing->sheet, cells, 0);
        put_pieces(showing->sheet, showing->graph, &sums, &step_piece_table);
    }
    path_sums_finish(&sums);
    return status;
}

static bool is_wanted(const struct showing *showing, size_t at)
{
    const struct path_step *step = path_job_step(showing->job, showing->graph, at);
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, step->number);
    return !showing->step || !strcmp(showing->step, number) || !strcmp(showing->step, step->name);
}

static int put_steps(const struct showing *showing)
{
    int status = GAIT_OK;
    sheet_table(showing->sheet, &step_table);
    for (size_t i = 0; i < showing->job->count && !status; i++)
        if (is_wanted(showing, i))
            status = put_step(showing, path_job_step(showing->job, showing->graph, i));
    sheet_end(showing->sheet);
    return status;
}

static int sum_up(struct showing *showing)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < showing->job->count && !status; i++) {
        struct path_sums sums;
        if (!is_wanted(showing, i))
            continue;
        status = find_path(showing, path_job_step(showing->job, showing->graph, i), &sums);
        if (!status)
            status = path_sums_join(&showing->all, &sums);
        path_sums_finish(&sums);
        showing->shown++;
    }
    path_sums_settle(&showing->all);
    return status;
}

static int say_missing(const struct showing *showing)
{
    if (showing->step || showing->has_rank)
        return fail(GAIT_ERR_MISSING, "no such step%s is on record: %s",
                    showing->has_rank ? " of that rank" : "",
                    showing->step ? showing->step : "any");
    return fail(GAIT_ERR_MISSING,
                "no step and no thread with spans is on record: there is no path");
}

static int put_all(struct sheet *sheet, const struct asked *asked, struct showing *showing)
{
    char text[160];
    int status = sum_up(showing);
    if (status || !showing->shown)
        return status ? status : say_missing(showing);
    snprintf(text, sizeof text, "%s step%s, %s; %s", units_count(showing->shown).text,
             units_plural(showing->shown), units_ns((int64_t)path_sums_total(&showing->all)).text,
             showing->graph->marks.is_whole ? "no steps on record: the busiest thread as a whole"
                                            : "each piece named, together as long as the steps");
    sheet_title(sheet, asked->path, text);
    put_pieces(sheet, showing->graph, &showing->all,
               showing->job->ranks > 1 ? &rank_table : &piece_table);
    put_kinds(sheet, &showing->all);
    sheet_put(sheet, "length_ns", value_uint(path_sums_total(&showing->all)));
    sheet_put(sheet, "ranks", value_uint(showing->job->ranks));
    sheet_put(sheet, "joined_collectives", value_uint(showing->graph->matched));
    return put_steps(showing);
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct critical_values *values = asked->values;
    struct path_scales scales = {.count = 0};
    struct path_graph graph = {.trace = NULL};
    struct path_job job = {.count = 0};
    int64_t *end_ns = NULL;
    int status = path_graph_make(&graph, asked->trace, &scales);
    if (status)
        return status;
    status = path_replay(&graph, &scales, 0, &end_ns);
    if (!status)
        status = path_job_make(&job, &graph, end_ns, values->rank, asked->chosen);
    struct showing showing = {.sheet = sheet,
                              .graph = &graph,
                              .job = &job,
                              .end_ns = end_ns,
                              .step = values->step,
                              .has_rank = values->rank != NULL};
    if (!status)
        status = put_all(sheet, asked, &showing);
    path_sums_finish(&showing.all);
    path_job_finish(&job);
    path_graph_finish(&graph);
    free(end_ns);
    return status;
}

#define AT(field) offsetof(struct critical_values, field)
static const struct option options[] = {
    {TEXT_ROW(0, "step", "STEP", AT(step), "show one step alone, by its number or name")},
    {TEXT_ROW(0, "rank", "N", AT(rank), "show the steps of that rank, not of the slowest of each")},
};

const struct answer critical_path_answer = {
    .summary = "Shows the critical path of each step: which ops, kernels and waits its length is "
               "made of.",
    .about = {"The path of a step leads from its end back to its beginning: from each piece of "
              "work to what let it begin. Only what is on the path makes a step longer. Its pieces "
              "sum to the step's length exactly, and each has a name: ops and code of the host, "
              "launches, kernels, copies, waits, collectives of the rank that came last.",
              "Of several ranks, each step is that of the rank that took longest. 'gait what-if' "
              "computes how long a step would take with less of something."},
    .examples = {{"gait critical-path run1", "Show what the steps of a run had to wait for."},
                 {"gait critical-path --step 5 --json traces/",
                  "Show one step of several ranks, as JSON."}},
    OPTIONS_ARE(options),
    .is_rare = true,
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_WHOLE,
    .put = put,
};
