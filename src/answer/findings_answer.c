// SPDX-License-Identifier: Apache-2.0
// `gait findings`: every rule with its figure and its limit, whether it found something, did
// not, or has no evidence; and what to try.
#include <stdio.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "answer/answers.h"
#include "answer/device/ledgers.h"
#include "answer/sentence_text.h"
#include "load/choice.h"

enum { FEW_STEPS = 5, COMPUTE = 1 << LANE_COMPUTE, COMM = 1 << LANE_COMM, COPY = 1 << LANE_COPY };

struct rule {
    const char *name, *what, *advice;
    unsigned percent; // found from here on
};

// A share of the steps that are judged, on the training's thread; limits as in
// analyse/verdict/findings.c.
static const struct phase_rule {
    struct rule rule;
    unsigned phase;
} phase_rules[] = {
    {{"input", "waiting for input", "load in more workers, earlier, or from faster storage", 10},
     TORCH_INPUT},
    {{"copy", "copying to the device", "pin_memory=True and non_blocking=True", 10}, TORCH_COPY},
    {{"communication", "communication", "overlap it with computing, or send less", 20},
     TORCH_COMMUNICATION},
    {{"checkpoint", "saving checkpoints", "save less often, or in the background", 5},
     TORCH_CHECKPOINT},
    {{"evaluation", "evaluation", "evaluate less often, or on fewer samples", 20},
     TORCH_EVALUATION},
    {{"logging", "logging", "log less often", 3}, TORCH_LOGGING},
    {{"garbage", "collecting garbage", "gc.freeze() behind set-up, or collect between steps", 2},
     TORCH_GC},
    {{"other", "time outside all phases", "use gait run --sample 1000 to see what runs there", 25},
     TORCH_OTHER},
};

// A share of the time of the steps, summed over ranks, in which the devices did that alone.
static const struct device_rule {
    struct rule rule;
    unsigned with, without;
} device_rules[] = {
    {{"device-communication", "communication that no computing hides",
      "overlap it: smaller buckets, gradients sent while backward goes on", 20},
     COMM,
     COMPUTE},
    {{"device-copies", "copies that nothing hides",
      "pinned memory, and copies on a stream of theirs", 10},
     COPY,
     COMPUTE | COMM},
};
enum { IDLE_PERCENT = 30 };

static const struct column columns[] = {
    {.key = "rule", .label = "", .width = 22, .flags = COLUMN_LEFT},
    {.key = "state", .label = "", .width = 11, .flags = COLUMN_LEFT},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 8},
    {.key = "limit", .label = "limit", .unit = UNIT_SHARE, .width = 7},
    {.key = "text", .label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
};
static const struct table table = {.key = "rules", .heading = "Rules", COLUMNS_ARE(columns)};

static void put_rule(struct sheet *sheet, const struct rule *rule, uint64_t ns, uint64_t whole_ns)
{
    const bool is_found = whole_ns && (double)ns * 100 >= (double)whole_ns * rule->percent;
    char text[400];
    snprintf(text, sizeof text, "%s%s%s", rule->what, is_found ? "; try: " : "",
             is_found ? rule->advice : "");
    SHEET_ROW(sheet, value_text(rule->name),
              value_text(!whole_ns  ? "no evidence"
                         : is_found ? "found"
                                    : "clear"),
              value_share(ns, whole_ns), value_share(rule->percent, 100), value_text(text));
}

// What a trace of another tool has no name for may have happened all the same.
static bool is_seen(const struct torch_report *torch, unsigned phase)
{
    const uint64_t *seen = torch->chosen ? torch->totals : torch->judged.phases;
    for (uint32_t i = 0; i < torch->survey.shard_count; i++)
        if (torch->survey.shards[i].is_imported && !seen[phase])
            return false;
    return true;
}

static void put_phases(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const bool has_steps = torch && torch->judged.steps >= FEW_STEPS;
    for (size_t i = 0; i < sizeof phase_rules / sizeof phase_rules[0]; i++) {
        const struct phase_rule *rule = &phase_rules[i];
        const bool is_known = has_steps && is_seen(torch, rule->phase);
        put_rule(sheet, &rule->rule, is_known ? torch->judged.phases[rule->phase] : 0,
                 is_known ? torch->judged.total_ns : 0);
    }
}

// Of the steps; of a rank that has none, of all the time of its devices.
static struct breakdown sum_up(const struct device_run *run)
{
    struct breakdown sum = {.span_ns = 0};
    for (size_t i = 0; i < run->count; i++) {
        const struct breakdown_rank *rank = &run->ranks[i];
        if (!rank->has_device)
            continue;
        if (!rank->step_count)
            breakdown_add(&sum, &rank->whole, false);
        for (size_t k = 0; k < rank->step_count; k++)
            breakdown_add(&sum, &rank->steps[k].breakdown, false);
    }
    return sum;
}

static void put_idle(struct sheet *sheet, const struct breakdown *sum)
{
    static const char *const causes[IDLE_CAUSES][2] = {
        [IDLE_HOST_LATE] =
            {"idle, mostly because the host launches too late",
             "larger batches, torch.compile or CUDA graphs; less Python in the step"},
        [IDLE_LAUNCH] = {"idle, mostly between a launch and its start",
                         "fewer and larger kernels: torch.compile or CUDA graphs"},
        [IDLE_DEPENDENCY] = {"idle, mostly waiting for other streams or events",
                             "look at what the streams wait for (gait export --format chrome)"},
        [IDLE_GAP] = {"idle, mostly in gaps between kernels", "CUDA graphs, or fused kernels"},
        [IDLE_UNKNOWN] = {"idle", "record the calls of the host, too, to see why"},
    };
    unsigned most = 0;
    for (unsigned i = 1; i < IDLE_CAUSES; i++)
        if (sum->idle_ns[i] > sum->idle_ns[most])
            most = i;
    const struct rule rule = {"device-idle", causes[most][0], causes[most][1], IDLE_PERCENT};
    put_rule(sheet, &rule, sum->state_ns[0], sum->span_ns);
}

static void put_devices(struct sheet *sheet, const struct device_run *run)
{
    const struct breakdown sum = sum_up(run);
    put_idle(sheet, &sum);
    for (size_t i = 0; i < sizeof device_rules / sizeof device_rules[0]; i++) {
        const struct device_rule *rule = &device_rules[i];
        put_rule(sheet, &rule->rule, breakdown_time(&sum, rule->with, rule->without), sum.span_ns);
    }
}

// What the report found besides, in its own words.
static void put_report(struct sheet *sheet, const struct run_report *report)
{
    static const struct column words[] = {{.key = "id"}, {.key = "text"}};
    static const struct table found = {.key = "findings", COLUMNS_ARE(words)};
    const struct findings *findings = report->torch ? &report->torch->findings : NULL;
    if (findings && findings->count)
        sheet_section(sheet, "Findings", "");
    for (size_t i = 0; findings && i < findings->count; i++) {
        char text[SENTENCE_BYTES];
        sentence_finding(&findings->rows[i], text, sizeof text);
        sheet_say(sheet, SAY_BULLET, text);
    }
    sheet_table(sheet, &found);
    for (size_t i = 0; findings && i < findings->count; i++) {
        char text[SENTENCE_BYTES];
        sentence_finding(&findings->rows[i], text, sizeof text);
        SHEET_ROW(sheet, value_text(sentence_finding_id(&findings->rows[i])), value_text(text));
    }
    sheet_end(sheet);
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct run_report report;
    const int status = run_report_make_part(&report, asked->trace, asked->chosen);
    if (!status) {
        sheet_title(sheet, asked->path, "What stands out, and what to try");
        sheet_table(sheet, &table);
        put_phases(sheet, &report);
        put_devices(sheet, &report.devices);
        sheet_end(sheet);
        if (!asked->chosen) // what it found is of all of the run
            put_report(sheet, &report);
        ledgers_put(sheet, asked->trace, &report.devices.turns);
    }
    run_report_finish(&report);
    return status;
}

const struct answer findings_answer = {
    .summary = "Tests a run against rules: what stands out, by how much, and what to try.",
    .about =
        {"Each rule is a share of the steps and its limit. found: the share reaches the limit. "
         "clear: "
         "it does not. no evidence: fewer than five steps, or no work of a device is on record.",
         "Rules about phases are about the training's thread, without the first step and those "
         "that "
         "compile, where there are enough others. Rules about devices are about what the devices "
         "did "
         "in the steps (gait breakdown).",
         "Of chosen steps, times or a phase both are about all steps that begin in them, also the "
         "first "
         "one and those that compile; rules about devices, where no step does, about what these "
         "did in "
         "them. What the report finds besides is of a whole run and not told."},
    .examples =
        {{"gait findings run1", "What stands out in a run."},
         {"gait findings --json trace.json.gz | jq '.rules[] | select(.state == \"found\")'",
          "The rules that found something in a trace of another tool."}},
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
