// SPDX-License-Identifier: Apache-2.0
// `gait plan`: what a schedule records, step by step, before the run that needs it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/internal/schedule.h>

#include "answer/sheet.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "cli/run/schedule_note.h"
#include "config/config.h"
#include "launch/say.h"

struct plan_values {
    int64_t wait, warmup, active, repeat, skip_first, every, length, epochs;
    const char *unit, *file;
    bool skips_first_wait;
};

enum { TEXT_ROOM = 4096, MOST_ENTRIES = 1000 };

static const char *const unit_choices[] = {"step", "epoch", "seconds", NULL};
static const char *const actions[] = {"none", "warmup", "record", "record_and_save"};
static const char usual[] = "5/3/100"; // of gait run, see python/gait/torch/windows.py

static enum gait_unit unit_named(const char *name)
{
    int unit = GAIT_UNIT_STEP;
    while (unit_choices[unit + 1] && strcmp(name, unit_choices[unit]) != 0)
        unit++;
    return (enum gait_unit)unit;
}

static bool has_numbers(const struct plan_values *values)
{
    return values->wait || values->warmup || values->active || values->repeat ||
           values->skip_first || values->every || values->skips_first_wait;
}

static int from_options(const struct plan_values *values, struct gait_schedule *ret_schedule)
{
    *ret_schedule = (struct gait_schedule){
        .size = sizeof(*ret_schedule),
        .wait = values->wait,
        .warmup = values->warmup,
        .active = values->active,
        .repeat = values->repeat,
        .skip_first = values->skip_first,
        .skip_first_wait = values->skips_first_wait,
        .every = values->every,
    };
    if (values->epochs) // then active is what is left
        return 0;
    return gait_schedule_check(ret_schedule);
}

// A file of the user's, and settings on the line.
static int from_settings(const struct plan_values *values, const struct operands *operands,
                         struct gait_schedule *ret_schedule)
{
    struct config config;
    const struct config_request request = {
        .size = sizeof request, .file = values->file, .words = &operands->settings};
    config_init(&config);
    int status = config_resolve(&config, &request);
    if (!status) {
        *ret_schedule = (struct gait_schedule){
            .size = sizeof(*ret_schedule),
            .wait = config_number(&config, SETTING_WAIT),
            .warmup = config_number(&config, SETTING_WARMUP),
            .active = config_number(&config, SETTING_ACTIVE),
            .repeat = config_number(&config, SETTING_REPEAT),
            .skip_first = config_number(&config, SETTING_SKIP_FIRST),
            .skip_first_wait = config_number(&config, SETTING_SKIP_FIRST_WAIT) != 0,
            .every = config_number(&config, SETTING_EVERY_N_STEPS),
            .unit = unit_named(config_text(&config, SETTING_UNIT)),
        };
        status = gait_schedule_check(ret_schedule);
    }
    config_finish(&config);
    return status;
}

static int read_schedule(const struct plan_values *values, const struct operands *operands,
                         struct gait_schedule *ret_schedule)
{
    const char *given = operands->count ? operands->texts[0] : getenv("GAIT_TORCH_WINDOWS");
    int status;
    const bool has_settings = operands->settings.count || values->file;
    if (operands->count && (has_numbers(values) || has_settings))
        return fail(GAIT_ERR_ARGUMENT,
                    "give either the schedule '%.80s' or its numbers as options, not both",
                    operands->texts[0]);
    if (has_settings)
        status = from_settings(values, operands, ret_schedule);
    else if (has_numbers(values) || values->epochs)
        status = from_options(values, ret_schedule);
    else {
        const char *text = given && *given ? given : usual;
        status = gait_schedule_parse(text, ret_schedule);
        if (!status)
            schedule_note_say(text, ret_schedule);
    }
    if (!status && values->unit)
        ret_schedule->unit = unit_named(values->unit);
    return status;
}

// --- data -----------------------------------------------------------------------------

static const struct column state_columns[] = {{.key = "from"}, {.key = "to"}, {.key = "action"}};
static const struct table state_table = {.key = "states", COLUMNS_ARE(state_columns)};
static const struct column cycle_columns[] = {
    {.key = "cycle"}, {.key = "first"}, {.key = "last"}, {.key = "complete"}};
static const struct table cycle_table = {.key = "cycles", COLUMNS_ARE(cycle_columns)};

static void put_schedule(struct sheet *sheet, const struct gait_schedule *schedule)
{
    sheet_object(sheet, "schedule");
    sheet_put(sheet, "wait", value_int(schedule->wait));
    sheet_put(sheet, "warmup", value_int(schedule->warmup));
    sheet_put(sheet, "active", value_int(schedule->active));
    sheet_put(sheet, "repeat", value_int(schedule->repeat));
    sheet_put(sheet, "skip_first", value_int(schedule->skip_first));
    sheet_put(sheet, "skip_first_wait", value_bool(schedule->skip_first_wait));
    sheet_put(sheet, "every", value_int(schedule->every));
    sheet_put(sheet, "unit", value_text(unit_choices[schedule->unit]));
    sheet_end(sheet);
}

// Runs of positions with one action, up to the end of the run or of the schedule.
static void put_states(struct sheet *sheet, const struct gait_schedule *schedule, int64_t end)
{
    int64_t at = 0;
    sheet_table(sheet, &state_table);
    for (int entries = 0; at < end && entries < MOST_ENTRIES; entries++) {
        const int64_t from = at, next = gait_schedule_next(schedule, at);
        at = next < end ? next : end;
        const char *action = actions[gait_schedule_at(schedule, at - 1, NULL)];
        sheet_row(sheet, (struct value[]){value_int(from), value_int(at - 1), value_text(action)},
                  0);
    }
    sheet_end(sheet);
    sheet_put(sheet, "states_are_cut", value_bool(at < end));
}

static void put_cycles(struct sheet *sheet, const struct gait_schedule *schedule, int64_t end)
{
    const int64_t all = gait_schedule_cycles(schedule);
    sheet_table(sheet, &cycle_table);
    for (int64_t cycle = 1; cycle <= MOST_ENTRIES && (!all || cycle <= all); cycle++) {
        const int64_t needs = gait_schedule_needs(schedule, cycle);
        if (needs > end && !all)
            break;
        // not found by subtracting: cycles of a list differ in length
        const int64_t first =
            schedule->range_count ? schedule->ranges[cycle - 1].first : needs - schedule->active;
        SHEET_ROW(sheet, value_int(cycle), value_int(first), value_int(needs - 1),
                  value_bool(needs <= end));
    }
    sheet_end(sheet);
}

static void put(struct sheet *sheet, const struct gait_schedule *schedule, int64_t length)
{
    const int64_t needs = gait_schedule_needs(schedule, 0);
    const bool is_endless = needs == INT64_MAX;
    const int64_t end = length ? length : is_endless ? 0 : needs;
    char text[TEXT_ROOM];
    FILE *lines = sheet_lines_begin(sheet);
    gait_schedule_plan(schedule, length, text, sizeof text);
    if (lines)
        fputs(text, lines);
    sheet_lines_end(sheet);
    sheet_title(sheet, "What a schedule records", NULL);
    put_schedule(sheet, schedule);
    sheet_put(sheet, "length", value_if(length, value_int(length)));
    sheet_put(sheet, "needs", value_if(!is_endless, value_int(needs)));
    sheet_put(sheet, "too_short", value_bool(length && !is_endless && length < needs));
    put_cycles(sheet, schedule, end);
    put_states(sheet, schedule, end);
}

// --- the command ----------------------------------------------------------------------

static int run(const void *given, const struct operands *operands)
{
    const struct plan_values *values = given;
    struct gait_schedule schedule;
    struct sheet *sheet = NULL;
    int64_t length = values->length;
    if (sheet_wish_check(&operands->wish, NULL) || read_schedule(values, operands, &schedule))
        return command_refuse(&cmd_plan);
    if (values->epochs) {
        length = values->epochs;
        schedule.unit = GAIT_UNIT_EPOCH;
        schedule.repeat = 1;
        int clamped = gait_schedule_clamp(&schedule, values->epochs);
        if (clamped < 0)
            return command_refuse(&cmd_plan);
        if (clamped)
            say("wait and warmup leave no epoch, so gait shortens them");
    }
    const int status = sheet_new(&sheet);
    if (!status)
        put(sheet, &schedule, length);
    return sheet_answer(&cmd_plan, &operands->wish, sheet, status);
}

#define AT(field) offsetof(struct plan_values, field)
#define NUMBER(least, field, words, text)                                                          \
    {NUMBER_ROW(0, words, "N", least, GAIT_SCHEDULE_MOST, AT(field), text)}

static const struct option options[] = {
    NUMBER(0, wait, "wait", "units to skip at the start of each cycle"),
    NUMBER(0, warmup, "warmup", "units to warm up; gait discards them"),
    NUMBER(1, active, "active", "units to record in each cycle"),
    NUMBER(0, repeat, "repeat", "number of cycles; 0: until the end (default)"),
    NUMBER(0, skip_first, "skip-first", "units to skip before the first cycle"),
    {FLAG_ROW(0, "skip-first-wait", AT(skips_first_wait), "the first cycle does not wait")},
    NUMBER(0, every, "every", "a cycle begins each N; 0: at once (default)"),
    {CHOICE_ROW(0, "unit", "UNIT", unit_choices, AT(unit),
                "unit to count: step (default), epoch or seconds")},
    {TEXT_ROW(0, "config", "FILE", AT(file),
              "take the schedule from the profiling section of FILE")},
    NUMBER(0, length, "length", "length of the run; gait warns if it is too short"),
    NUMBER(0, epochs, "epochs", "record all epochs of N that wait and warmup leave"),
};

const struct command cmd_plan = {
    .purpose = "show what a schedule records",
    .summary = "Prints what a schedule does step by step, and how long a run must be.",
    .about = {"SCHEDULE has the form that gait run --windows takes: FIRST/ACTIVE/EVERY as in "
              "5/3/100, steps=5,10-12, or named numbers: "
              "wait=1,warmup=1,active=3,repeat=2,skip_first=1,every=50,unit=epoch. Settings such "
              "as --profiling.wait 1 and those of a file work as in gait config. Without a "
              "schedule or settings the options count. Without options too, gait plan shows "
              "GAIT_TORCH_WINDOWS or the default of gait run.",
              "Steps count from 0. A cycle is wait, warmup, active. gait writes its trace when the "
              "step after the last active one begins. With --epochs all remaining epochs are "
              "active. If wait and warmup leave no epoch, gait shortens the longer of the two, or "
              "warmup if they are equal."},
    .examples = {{"gait plan --wait 1 --warmup 1 --active 3 --length 20",
                  "Show the cycles in 20 steps."},
                 {"gait plan 5/3/100", "Show what gait run records by default."},
                 {"gait plan --wait 1 --warmup 2 --epochs 10", "Record the rest of ten epochs."}},
    .exit_status = "0: success, also if the run is too short. 2: an invalid schedule.",
    .line = {.command = "plan",
             OPTIONS_ARE(options),
             .max_operands = 1,
             .operands = "[SCHEDULE]",
             .has_settings = true,
             .has_sheet = true},
    .is_rare = true,
    .run = run,
};
