// SPDX-License-Identifier: Apache-2.0
// `gait findings`: each part of the verdict with its figure and its limit, whether it is
// found, is not, or there is no evidence; and what to try.
#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "answer/answers.h"
#include "answer/device/ledgers.h"
#include "answer/sentence_text.h"
#include "load/choice.h"

static const struct column columns[] = {
    {.key = "rule", .label = "", .width = 12, .flags = COLUMN_LEFT},
    {.key = "state", .label = "", .width = 12, .flags = COLUMN_LEFT},
    {.key = "share", .label = "share", .unit = UNIT_SHARE, .width = 8},
    {.key = "limit", .label = "limit", .unit = UNIT_SHARE, .width = 7},
    {.key = "of"},
    {.key = "text", .label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
};
static const struct table table = {.key = "rules", .heading = "Rules", COLUMNS_ARE(columns)};

static const struct verdict_part *part_of(const struct verdict *verdict, enum work_kind work)
{
    for (size_t i = 0; i < verdict->part_count; i++)
        if (verdict->parts[i].work == work)
            return &verdict->parts[i];
    return NULL;
}

// Whether there would be a part of it: of devices some kinds are none; a trace of another tool may
// have no name for what happened all the same; and Python is told from sleep by clocks alone.
static bool is_known(const struct run_report *report, enum work_kind work)
{
    static const bool of_devices[WORK_KINDS] = {
        [WORK_UNKNOWN] = true, [WORK_INPUT] = true, [WORK_PEERS] = true, [WORK_COPYING] = true,
        [WORK_WAITING] = true, [WORK_SYNC] = true,  [WORK_HOST] = true};
    const struct verdict *verdict = &report->verdict;
    if (!verdict->part_count || part_of(verdict, work))
        return verdict->part_count;
    if (verdict->is_of_devices)
        return of_devices[work];
    const bool needs_clocks = work == WORK_PYTHON || work == WORK_BLOCKED;
    return !report->is_imported && !(needs_clocks && part_of(verdict, WORK_UNKNOWN));
}

static void put_rule(struct sheet *sheet, const struct run_report *report, enum work_kind work)
{
    const struct verdict *verdict = &report->verdict;
    const struct verdict_part *part = part_of(verdict, work);
    const bool has_evidence = is_known(report, work);
    const bool is_found = part && verdict_percent(part->ns, part->of_ns) >= WORTH_PERCENT;
    struct evidence evidence = {.count = 0};
    char text[2 * SENTENCE_BYTES + 8], advice[SENTENCE_BYTES] = "";
    snprintf(text, sizeof text, "%s", sentence_work(work));
    if (is_found) {
        findings_rest_on(report, part, &evidence);
        sentence_say(&evidence, part->why, text, SENTENCE_BYTES);
        sentence_say(&verdict->evidence, part->advice, advice, sizeof advice);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *advice ? "; try: " : "",
                 advice);
    }
    SHEET_ROW(sheet, value_text(sentence_work_id(work)),
              value_text(!has_evidence ? "no evidence"
                         : is_found    ? "found"
                                       : "clear"),
              value_if(has_evidence, value_share(part ? part->ns : 0, part ? part->of_ns : 1)),
              value_share(WORTH_PERCENT, 100),
              value_text(has_evidence ? sentence_base_id(verdict->base) : NULL), value_text(text));
}

// Each kind of work that can be removed, or of which nothing is known; evaluation in eval mode and
// by name are one rule.
static void put_rules(struct sheet *sheet, const struct run_report *report)
{
    const bool is_named = part_of(&report->verdict, WORK_TESTING);
    for (unsigned work = 0; work < WORK_KINDS; work++)
        if (work != WORK_COMPUTING && work != (is_named ? WORK_EVAL_MODE : WORK_TESTING))
            put_rule(sheet, report, work);
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
        put_rules(sheet, &report);
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
        {"Each rule is a part of what the verdict of gait report judges, and its limit, 10 % of "
         "it. "
         "found: the part reaches the limit. clear: it does not. no evidence: nothing is judged, "
         "or what is on record would not show it.",
         "Where devices are on record the parts are of what they did in a step, of the rank that "
         "the "
         "verdict is about, and phases of a thread are no rules; else they are of the loop on the "
         "training's thread, without the first step and those that compile, where there are enough "
         "others.",
         "Of chosen steps, times or a phase they are about all steps that begin in them, also the "
         "first one and those that compile; about devices, where no step does, about what these "
         "did "
         "in them. What the report finds besides is of a whole run and not told."},
    .examples =
        {{"gait findings run1", "What stands out in a run."},
         {"gait findings --json trace.json.gz | jq '.rules[] | select(.state == \"found\")'",
          "The rules that found something in a trace of another tool."}},
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
