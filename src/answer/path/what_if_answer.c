// SPDX-License-Identifier: Apache-2.0
// `gait what-if`: how long steps would take with less of something.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer/answers.h"
#include "answer/path/path_steps.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

struct what_if_values {
    struct option_texts scales;
};

struct asking {
    const struct path_graph *graph;
    const struct path_scales *scales;
    const struct chosen *chosen;
};

// The job's steps where these scales hold.
static int replay(const struct asking *asking, path_mask wanted, struct path_job *job)
{
    int64_t *end_ns = NULL;
    *job = (struct path_job){.count = 0};
    int status = path_replay(asking->graph, asking->scales, wanted, &end_ns);
    if (!status)
        status = path_job_make(job, asking->graph, end_ns, NULL, asking->chosen);
    free(end_ns);
    return status;
}

static int64_t measured_of(const struct path_step *step)
{
    return (int64_t)((uint64_t)step->end_ns - (uint64_t)step->start_ns);
}

static int64_t measured_total(const struct asking *asking, const struct path_job *job)
{
    int64_t ns = 0;
    for (size_t i = 0; i < job->count; i++)
        ns += measured_of(path_job_step(job, asking->graph, i));
    return ns;
}

static double ratio(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static struct value ratio_or_none(int64_t part, int64_t whole)
{
    return value_if(whole > 0, value_real(whole > 0 ? ratio(part, whole) : 0));
}

// --- each scale alone ------------------------------------------------------------------

static int put_scales(struct sheet *sheet, const struct asking *asking, int64_t replayed_ns)
{
    static const struct column columns[] = {
        {.key = "pattern", .label = "alone", .flags = COLUMN_LEFT, .width = 30},
        {.key = "factor", .label = "times", .width = 8},
        {.key = "predicted_ns", .label = "all steps", .unit = UNIT_NS, .width = 11},
        {.key = "saved_ns", .label = "less", .unit = UNIT_NS, .width = 10},
        {.key = "saved_share", .label = "", .unit = UNIT_SHARE, .width = 9},
    };
    static const struct table table = {.key = "scales", .heading = "Each", COLUMNS_ARE(columns)};
    int status = GAIT_OK;
    sheet_table(sheet, &table);
    for (size_t i = 0; i < asking->scales->count && !status; i++) {
        const struct path_scale *scale = &asking->scales->rows[i];
        struct path_job job;
        status = replay(asking, (path_mask)(1u << i), &job);
        const int64_t ns = path_job_total(&job), saved_ns = replayed_ns > ns ? replayed_ns - ns : 0;
        const struct value cells[] = {value_text(scale->pattern), value_real(scale->factor),
                                      value_int(ns), value_int(replayed_ns - ns),
                                      value_share((uint64_t)saved_ns, (uint64_t)replayed_ns)};
        if (!status)
            sheet_row(sheet, cells, 0);
        path_job_finish(&job);
    }
    sheet_end(sheet);
    return status;
}

// --- steps -----------------------------------------------------------------------------

static void put_steps(struct sheet *sheet, const struct asking *asking, const struct path_job *was,
                      const struct path_job *would)
{
    static const struct column columns[] = {
        {.key = "name", .label = "step", .flags = COLUMN_LEFT, .width = 18},
        {.key = "number"},
        {.key = "rank", .label = "rank", .width = 6},
        {.key = "measured_ns", .label = "measured", .unit = UNIT_NS, .width = 11},
        {.key = "replayed_ns", .label = "replayed", .unit = UNIT_NS, .width = 11},
        {.key = "predicted_ns", .label = "would take", .unit = UNIT_NS, .width = 12},
    };
    static const struct table table = {
        .key = "steps", .heading = "Steps", COLUMNS_ARE(columns), .most = 12, .more = "more"};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < was->count && i < would->count; i++) {
        const struct path_step *step = path_job_step(was, asking->graph, i);
        char text[PATH_STEP_TEXT];
        const struct value cells[] = {
            path_step_name(step, text),
            value_uint(step->number),
            value_int(path_rank_of(asking->graph, step->shard)),
            value_int(measured_of(step)),
            value_int(was->rows[i].duration_ns),
            value_int(would->rows[i].duration_ns),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_totals(struct sheet *sheet, const struct asked *asked, const struct asking *asking,
                       const struct path_job *was, const struct path_job *would)
{
    const int64_t measured_ns = measured_total(asking, was), replayed_ns = path_job_total(was),
                  predicted_ns = path_job_total(would), count = (int64_t)was->count;
    const double change = 100 * (ratio(predicted_ns, measured_ns) - 1);
    const double error = 100 * (ratio(replayed_ns, measured_ns) - 1);
    char text[200];
    snprintf(text, sizeof text, "a step would take %s, not %s: %.1f %% %s",
             units_ns(predicted_ns / count).text, units_ns(measured_ns / count).text, fabs(change),
             change > 0 ? "more" : "less");
    sheet_title(sheet, asked->path, text);
    sheet_section(sheet, "All steps", "");
    sheet_put(sheet, "step_count", value_int(count));
    sheet_value(sheet, "measured_ns", "measured", UNIT_NS, value_int(measured_ns));
    sheet_value(sheet, "replayed_ns", "replayed as it was", UNIT_NS, value_int(replayed_ns));
    snprintf(text, sizeof text, "error of the replay %+.2f %%", error);
    sheet_remark(sheet, text);
    sheet_put(sheet, "replay_ratio", ratio_or_none(replayed_ns, measured_ns));
    sheet_value(sheet, "predicted_ns", "would take", UNIT_NS, value_int(predicted_ns));
    sheet_put(sheet, "predicted_ratio", ratio_or_none(predicted_ns, measured_ns));
    sheet_put(sheet, "joined_collectives", value_uint(asking->graph->matched));
}

static int check(const struct asking *asking)
{
    for (size_t i = 0; i < asking->scales->count; i++)
        if (!asking->scales->rows[i].is_met)
            return fail(GAIT_ERR_MISSING,
                        "no op, kernel, collective, phase or role of the run is called '%s'; 'gait "
                        "critical-path' lists names",
                        asking->scales->rows[i].pattern);
    if (!asking->scales->count)
        return fail(GAIT_ERR_ARGUMENT, "give what shall take less time, such as --scale 'nccl*=0'");
    return asking->graph->marks.step_count
               ? GAIT_OK
               : fail(GAIT_ERR_MISSING,
                      "no step and no thread with spans is on record: there is nothing to replay");
}

static int answer(struct sheet *sheet, const struct asked *asked, const struct asking *asking)
{
    struct path_job was = {.count = 0}, would = {.count = 0};
    int status = check(asking);
    if (!status)
        status = replay(asking, 0, &was);
    if (!status)
        status = replay(asking, (path_mask)~0u, &would);
    if (!status && was.count) {
        put_totals(sheet, asked, asking, &was, &would);
        status = put_scales(sheet, asking, path_job_total(&was));
        put_steps(sheet, asking, &was, &would);
    }
    path_job_finish(&was);
    path_job_finish(&would);
    return status;
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct what_if_values *values = asked->values;
    struct path_scales scales;
    struct path_graph graph = {.trace = NULL};
    int status = path_scales_read(&scales, &values->scales);
    if (status)
        return status;
    status = path_graph_make(&graph, asked->trace, &scales);
    if (!status) {
        const struct asking asking = {&graph, &scales, asked->chosen};
        status = answer(sheet, asked, &asking);
        path_graph_finish(&graph);
    }
    path_scales_finish(&scales);
    return status;
}

#define AT(field) offsetof(struct what_if_values, field)
static const struct option options[] = {
    {OPTION_ROW(OPTION_TEXTS, 0, "scale", "PATTERN=FACTOR", AT(scales),
                "what takes FACTOR of its time: an op, kernel, collective, phase or role")},
};

const struct answer what_if_answer = {
    .summary = "Predicts how long steps would take if some ops, kernels, collectives or phases "
               "took less time.",
    .about = {"gait builds a graph of what each piece of work had to wait for, gives the pieces "
              "that a pattern meets the wished share of their time, and replays the graph. A "
              "pattern is a glob over names of ops, annotations, kernels and collectives, over "
              "phases (input, forward, ...) and roles (op, runtime, kernel, collective, copy). "
              "What meets several patterns takes the product of their factors.",
              "An op, an annotation or a phase stands for all that the thread does within, and for "
              "the device work launched there. A collective with factor 0 still waits for the last "
              "rank.",
              "The replay of the unchanged graph stands beside it: its difference from what was "
              "measured is an error that the prediction has too."},
    .examples = {{"gait what-if run1 --scale input=0.5",
                  "How long would steps take with half of the input?"},
                 {"gait what-if traces/ --scale 'nccl*=0' --scale 'aten::conv*=0.8'",
                  "Free communication, and convolutions that take 20 % less."}},
    OPTIONS_ARE(options),
    .is_rare = true,
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_WHOLE,
    .put = put,
};
