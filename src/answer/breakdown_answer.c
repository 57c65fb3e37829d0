// SPDX-License-Identifier: Apache-2.0
// `gait breakdown`: what the devices of each rank did, and why they did nothing.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/device/device_run.h"
#include "answer/answers.h"
#include "answer/device/device_table.h"
#include "answer/device/itwinai_figures.h"
#include "answer/device/ledgers.h"
#include "base/fail.h"
#include "base/units.h"
#include "load/choice.h"

#include "vocabulary/metadata.h"

struct breakdown_values {
    const char *compat; // a tool; NULL: none
    bool activity;
};

static const char *const compat_tools[] = {"itwinai", NULL}; // for shells to complete

enum { COMPUTE = DEVICE_COMPUTE, COMM = DEVICE_COMM, COPY = DEVICE_COPY };

// The nine figures that others build on: exclusive, the eight states sum to the span.
static const char *const state_keys[DEVICE_STATES] = {
    [0] = "idle",
    [COMPUTE] = "compute",
    [COMM] = "comm",
    [COPY] = "mem",
    [COMPUTE | COMM] = "compute+comm",
    [COMPUTE | COPY] = "compute+mem",
    [COMM | COPY] = "comm+mem",
    [COMPUTE | COMM | COPY] = "compute+comm+mem",
};

// What people ask for, each from the states.
static const struct {
    const char *key;
    unsigned with, without;
} figures[] = {
    {"busy", 0, 0}, // but for idle
    {"compute_busy", COMPUTE, 0},
    {"comm_busy", COMM, 0},
    {"copy_busy", COPY, 0},
    {"overlap", COMPUTE | COMM, 0},
    {"exposed_comm", COMM, COMPUTE},
    {"exposed_copy", COPY, COMPUTE | COMM},
};

static const char *const cause_keys[IDLE_CAUSES] = {
    [IDLE_HOST_LATE] = "host_late",   [IDLE_LAUNCH] = "launch_latency",
    [IDLE_DEPENDENCY] = "dependency", [IDLE_GAP] = "gap",
    [IDLE_UNKNOWN] = "unknown",
};

// --- data ------------------------------------------------------------------------------

// `base` names the time that the figures are of: the window from the first to the last event of
// devices, or a step on the host. Always integers: a step without a device is idle all the time,
// and `whole` of its rank is null.
static void put_breakdown(struct sheet *sheet, const char *base, const struct breakdown *breakdown)
{
    sheet_put(sheet, "base", value_text(base));
    sheet_put(sheet, "span", value_uint(breakdown->span_ns));
    for (unsigned state = 0; state < DEVICE_STATES; state++)
        sheet_put(sheet, state_keys[state], value_uint(breakdown->state_ns[state]));
    sheet_object(sheet, "total");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const uint64_t ns = breakdown_time(breakdown, figures[i].with, figures[i].without);
        sheet_put(sheet, figures[i].key,
                  value_uint(figures[i].with ? ns : ns - breakdown->state_ns[0]));
    }
    sheet_put(sheet, "overlap_ratio",
              value_share(breakdown_time(breakdown, COMPUTE | COMM, 0),
                          breakdown_time(breakdown, COMM, 0)));
    sheet_end(sheet);
    sheet_object(sheet, "idle_causes");
    for (unsigned cause = 0; cause < IDLE_CAUSES; cause++)
        sheet_put(sheet, cause_keys[cause], value_uint(breakdown->idle_ns[cause]));
    sheet_end(sheet);
}

static const struct column step_columns[] = {
    {.key = "name"},
    {.key = "start_ns"},
};

static void put_steps(struct sheet *sheet, const struct breakdown_rank *rank)
{
    static const struct table table = {.key = "steps", COLUMNS_ARE(step_columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < rank->step_count; i++) {
        SHEET_ROW(sheet, value_text(rank->steps[i].name), value_int(rank->steps[i].start_ns));
        put_breakdown(sheet, "host", &rank->steps[i].breakdown);
    }
    sheet_end(sheet);
}

static const char *base_of(const struct asked *asked)
{
    return asked->chosen ? "choice" : "window";
}

// Of a rank with several: each over the rank's own time.
static void put_devices(struct sheet *sheet, const struct breakdown_rank *rank, const char *base)
{
    static const struct column columns[] = {{.key = "device"}};
    static const struct table table = {.key = "devices", COLUMNS_ARE(columns)};
    if (!rank->device_count)
        return;
    sheet_table(sheet, &table);
    for (size_t i = 0; i < rank->device_count; i++) {
        const int32_t device = rank->devices[i].device;
        const struct value cell = value_if(device >= 0, value_int(device));
        sheet_row(sheet, &cell, 0);
        put_breakdown(sheet, base, &rank->devices[i].whole);
    }
    sheet_end(sheet);
}

// --- for people -------------------------------------------------------------------------

static const struct column rank_columns[] = {
    {.key = "rank", .label = "", .width = 13},
    {.label = "time", .unit = UNIT_NS, .width = 11},
    DEVICE_PART_COLUMNS,
    {.key = "file"},
    {.key = "host"},
    {.key = "pid"},
    {.key = "start_ns"},
};

static const struct table rank_table = {
    .key = "ranks", .heading = "Devices, rank", COLUMNS_ARE(rank_columns)};

static int put_rank(struct sheet *sheet, const struct asked *asked,
                    const struct breakdown_rank *rank)
{
    const char *source = gait_trace_metadata(asked->trace, rank->shard, meta.source);
    struct gait_shard_info shard;
    struct value parts[DEVICE_PARTS];
    int status = gait_trace_shard(asked->trace, rank->shard, &shard);
    if (status)
        return status;
    device_parts_find(&rank->whole, rank->has_device, parts);
    const struct value cells[] = {
        value_int(device_rank_number(asked->trace, rank->shard)),
        parts[0],
        parts[1],
        parts[2],
        parts[3],
        parts[4],
        parts[5],
        source ? value_json(source) : value_text(shard.path),
        value_text(shard.host),
        value_int(shard.pid),
        value_if(rank->has_device, value_int(rank->start_ns)),
    };
    sheet_row(sheet, cells, 0);
    if (rank->has_device) {
        sheet_object(sheet, "whole");
        put_breakdown(sheet, base_of(asked), &rank->whole);
        sheet_end(sheet);
    } else
        sheet_put(sheet, "whole", value_none());
    put_devices(sheet, rank, base_of(asked));
    if (asked->choice && asked->choice->shows_steps)
        put_steps(sheet, rank);
    return GAIT_OK;
}

static void show_steps(struct sheet *sheet, const struct device_run *run)
{
    static const struct column columns[] = {{.label = "step", .flags = COLUMN_LEFT, .width = 18},
                                            {.label = "of", .unit = UNIT_NS, .width = 10},
                                            DEVICE_PART_COLUMNS};
    static const struct table table = {
        .heading = "Steps", COLUMNS_ARE(columns), .most = 60, .more = "more"};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count; i++)
        for (size_t at = 0; at < run->ranks[i].step_count; at++) {
            const struct breakdown_step *step = &run->ranks[i].steps[at];
            struct value cells[1 + DEVICE_PARTS] = {value_text(step->name)};
            device_parts_find(&step->breakdown, run->ranks[i].has_device, &cells[1]);
            cells[1] = value_uint(step->breakdown.span_ns);
            sheet_row(sheet, cells, 0);
        }
    sheet_end(sheet);
}

static void show_devices(struct sheet *sheet, const struct asked *asked,
                         const struct device_run *run)
{
    static const struct column columns[] = {{.label = "", .width = 6},
                                            {.label = "device", .width = 8},
                                            {.label = "of", .unit = UNIT_NS, .width = 10},
                                            DEVICE_PART_COLUMNS};
    static const struct table table = {
        .heading = "Each of a rank's", COLUMNS_ARE(columns), .most = 64, .more = "more"};
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += run->ranks[i].device_count;
    if (!count)
        return;
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count; i++)
        for (size_t at = 0; at < run->ranks[i].device_count; at++) {
            const struct breakdown_device *device = &run->ranks[i].devices[at];
            struct value cells[2 + DEVICE_PARTS] = {
                value_int(device_rank_number(asked->trace, run->ranks[i].shard)),
                value_if(device->device >= 0, value_int(device->device))};
            device_parts_find(&device->whole, true, &cells[2]);
            sheet_row(sheet, cells, 0);
        }
    sheet_end(sheet);
}

static void show_causes(struct sheet *sheet, const struct asked *asked,
                        const struct device_run *run)
{
    static const struct column columns[] = {
        {.label = "", .width = 13},
        {.label = "idle", .unit = UNIT_NS, .width = 11},
        {.label = "host late", .unit = UNIT_NS, .width = 11},
        {.label = "launch", .unit = UNIT_NS, .width = 10},
        {.label = "dependency", .unit = UNIT_NS, .width = 11},
        {.label = "gap", .unit = UNIT_NS, .width = 10},
        {.label = "unknown", .unit = UNIT_NS, .width = 10},
    };
    static const struct table table = {.heading = "Idle, rank", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count; i++) {
        const struct breakdown *whole = &run->ranks[i].whole;
        struct value cells[2 + IDLE_CAUSES] = {
            value_int(device_rank_number(asked->trace, run->ranks[i].shard)),
            value_uint(whole->state_ns[0])};
        for (unsigned cause = 0; cause < IDLE_CAUSES; cause++)
            cells[2 + cause] = value_uint(whole->idle_ns[cause]);
        if (run->ranks[i].has_device)
            sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_title(struct sheet *sheet, const struct asked *asked, const struct device_run *run)
{
    char text[200];
    size_t ranks = 0, steps = 0;
    for (size_t i = 0; i < run->count; i++) {
        ranks += run->ranks[i].has_device;
        steps += run->ranks[i].step_count;
    }
    if (!ranks)
        snprintf(text, sizeof text, "The recording contains no device work");
    else
        snprintf(text, sizeof text, "%zu rank%s with devices, %zu step%s", ranks,
                 units_plural(ranks), steps, units_plural(steps));
    sheet_title(sheet, asked->path, text);
}

// Turns are whole: times and phases that cut one leave none (gait steps takes those that begin).
static void put_ledgers(struct sheet *sheet, const struct asked *asked, const struct turns *turns)
{
    if (asked->chosen && asked->chosen->cuts_steps)
        sheet_put(sheet, "ledgers", value_none());
    else {
        ledgers_put(sheet, asked->trace, turns);
        ledgers_show(sheet, asked->trace, turns);
    }
}

static const struct rank_activity *activity_of(const struct turns *turns, uint32_t shard)
{
    size_t at = 0;
    while (at < turns->activity_count && turns->activities[at].shard != shard)
        at++;
    return at < turns->activity_count ? &turns->activities[at] : NULL;
}

static void say_no_activity(struct sheet *sheet, const struct asked *asked,
                            const struct breakdown_rank *rank)
{
    char text[300];
    const char *why =
        rank->has_device
            ? "no step lies in a time with devices on record."
            : "no work of devices is on record. A trace of torch.profiler with "
              "ProfilerActivity.CUDA tells it, and gait run of a program that uses a device. "
              "gait ops tells what the host did.";
    snprintf(text, sizeof text, "Rank %" PRId64 ": %s",
             device_rank_number(asked->trace, rank->shard), why);
    sheet_say(sheet, SAY_PARAGRAPH, text);
}

// Pages have it of the first ranks, asked for or not.
static void put_activities(struct sheet *sheet, const struct asked *asked,
                           const struct device_run *run, bool is_asked)
{
    enum { MOST_SHOWN = 16 };
    if (is_asked) {
        activities_put(sheet, asked->trace, &run->turns);
        sheet_section(sheet, "Activity", "what the host did in each state of its devices");
    }
    for (size_t i = 0; i < run->count && i < MOST_SHOWN; i++) {
        const struct rank_activity *activity = activity_of(&run->turns, run->ranks[i].shard);
        if (activity)
            activity_show(sheet, asked->trace, activity, !is_asked);
        else if (is_asked)
            say_no_activity(sheet, asked, &run->ranks[i]);
    }
    if (is_asked && run->count > MOST_SHOWN)
        sheet_say(sheet, SAY_PARAGRAPH, "Of other ranks: --ranks, or --json.");
}

static int check_compat(const char *tool, bool is_chosen)
{
    if (tool && strcmp(tool, compat_tools[0]) != 0)
        return fail(GAIT_ERR_ARGUMENT,
                    "--compat knows itwinai alone, not '%s'; docs/howto/from-other-tools.md tells "
                    "where gait has what other tools show",
                    tool);
    if (tool && is_chosen)
        return fail(GAIT_ERR_ARGUMENT, "--compat shows figures of whole ranks: leave out --steps=, "
                                       "--from, --to and --phase");
    return GAIT_OK;
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const struct breakdown_values *values = asked->values;
    struct device_run run;
    int status = check_compat(values->compat, asked->chosen != NULL);
    if (!status)
        status = device_run_make(&run, asked->trace, asked->chosen);
    if (status)
        return status;
    put_title(sheet, asked, &run);
    sheet_table(sheet, &rank_table);
    for (size_t i = 0; i < run.count && !status; i++)
        status = put_rank(sheet, asked, &run.ranks[i]);
    sheet_end(sheet);
    show_devices(sheet, asked, &run);
    show_causes(sheet, asked, &run);
    put_ledgers(sheet, asked, &run.turns);
    put_activities(sheet, asked, &run, values->activity);
    if (asked->choice && asked->choice->shows_steps)
        show_steps(sheet, &run);
    if (!status && values->compat)
        status = itwinai_figures_put(sheet, &run, asked->trace);
    device_run_finish(&run);
    return status;
}

static const struct option options[] = {
    {.name = "activity",
     .help = "also show what the host did in each state of devices",
     .offset = offsetof(struct breakdown_values, activity)},
    {.name = "compat",
     .kind = OPTION_TEXT,
     .value = "TOOL",
     .help = "also show the figures of that tool, itwinai, beside the exact ones",
     .offset = offsetof(struct breakdown_values, compat),
     .choices = compat_tools},
};

const struct answer breakdown_answer = {
    .summary = "Shows what the devices of each rank did: computation, communication, copies, their "
               "overlap, and why the devices were idle.",
    .about =
        {"gait divides the time from the first to the last event of a rank's devices into "
         "exclusive states. Each nanosecond is in one state, so the states sum to the whole "
         "exactly. Work on several streams at once counts once.",
         "Communication is the kernels of NCCL, RCCL, HCCL and oneCCL. It is exposed while no "
         "kernel computes.",
         "The work that ends an idle time shows its cause: the host launched it late, the "
         "launch took time, it waited for other work (dependency), or it followed the kernel "
         "before it at once (gap, below 3 us).",
         "Turns last from step to step (gait steps): what devices did, and while they were "
         "idle the host.",
         "--activity divides the turns, without steps the time with devices on record, by what "
         "devices did and in that by what the host did, the first of what gait steps names. "
         "The idle row is that of the turns.",
         "--steps takes a value behind = alone: the numbers that gait steps prints. A choice "
         "of steps, time or phase cuts the work of devices at its edges: the whole of "
         "--steps=5..9 is the sum of these steps, and --from T and --to T part the whole in "
         "two. The steps that are shown begin in it."},
    .examples = {{"gait breakdown run1",
                  "Show computation, communication, copies and idle time of each rank."},
                 {"gait breakdown --steps --json trace.json.gz",
                  "Show the same for each step, as JSON."}},
    OPTIONS_ARE(options),
    .choice = CHOICE_SHOW_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
