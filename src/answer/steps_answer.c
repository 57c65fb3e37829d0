// SPDX-License-Identifier: Apache-2.0
// `gait steps`: each step, where its turn went, and how full the devices were.
#include <math.h>
#include <stdio.h>

#include "analyse/device/turns.h"
#include "answer/answers.h"
#include "answer/device/device_table.h"
#include "answer/device/ledgers.h"
#include "base/units.h"
#include "load/choice.h"

static const struct column step_columns[] = {
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 15},
    {.key = "rank", .label = "rank", .width = 4},
    {.key = "turn_ns", .label = "turn", .unit = UNIT_NS, .width = 8},
    {.key = "host_ns", .label = "host", .unit = UNIT_NS, .width = 8},
    {.key = "period_ns", .label = "period", .unit = UNIT_NS, .width = 8},
    {.key = "computing_ns", .label = "computing", .unit = UNIT_NS, .width = 9},
    {.key = "communication_ns", .label = "comm", .unit = UNIT_NS, .width = 8},
    {.key = "copies_ns", .label = "copies", .unit = UNIT_NS, .width = 8},
    {.key = "idle_ns"},
    {.key = "number"},
    {.key = "start_ns"},
};
static const struct table step_table = {
    .key = "steps", .heading = "Steps", COLUMNS_ARE(step_columns), .most = 40, .more = "more"};

static const struct column device_columns[] = {
    {.key = "rank", .label = "", .width = 13},
    {.key = "device", .label = "device", .width = 8},
    {.key = "utilisation", .label = "kernels run", .unit = UNIT_SHARE, .width = 13},
    {.key = "sm_efficiency", .label = "SM efficiency", .unit = UNIT_SHARE, .width = 15},
    {.key = "occupancy", .label = "occupancy", .unit = UNIT_SHARE, .width = 11},
};
static const struct table device_table = {
    .key = "devices", .heading = "Devices, rank", COLUMNS_ARE(device_columns)};

static uint64_t length(int64_t from_ns, int64_t until_ns)
{
    return (uint64_t)until_ns - (uint64_t)from_ns;
}

// --- steps ------------------------------------------------------------------------------

static void put_step(struct sheet *sheet, int64_t rank, const struct turn *turn)
{
    const uint64_t *ns = turn->sums.ns;
    const uint64_t turn_ns = length(turn->start_ns, turn->end_ns);
    const bool is_known = turn->has_devices;
    const struct value cells[] = {
        value_text(turn->name),
        value_int(rank),
        value_uint(turn_ns),
        value_uint(length(turn->start_ns, turn->host_end_ns)),
        value_if(!turn->is_first, value_uint(turn->period_ns)),
        value_if(is_known, value_uint(ns[LANE_COMPUTE])),
        value_if(is_known, value_uint(ns[LANE_COMM])),
        value_if(is_known, value_uint(ns[LANE_COPY])),
        value_if(is_known, value_uint(turn_ns - ns[LANE_COMPUTE] - ns[LANE_COMM] - ns[LANE_COPY])),
        value_uint(turn->number),
        value_int(turn->start_ns),
    };
    sheet_row(sheet, cells, 0);
}

static void put_steps(struct sheet *sheet, const struct asked *asked, const struct turns *turns)
{
    sheet_table(sheet, &step_table);
    for (size_t i = 0; i < turns->count; i++)
        for (size_t k = 0; k < turns->ranks[i].count; k++)
            put_step(sheet, device_rank_number(asked->trace, turns->ranks[i].shard),
                     &turns->ranks[i].turns[k]);
    sheet_end(sheet);
}

// --- devices ----------------------------------------------------------------------------

static struct value share(double part, double whole)
{
    const double share = whole > 0 ? part / whole : NAN;
    const bool is_known = share >= 0;
    const uint64_t of = 1000000000;
    const uint64_t told = is_known ? (uint64_t)((share < 1 ? share : 1) * (double)of) : 0;
    return value_if(is_known, value_share(told, of));
}

static void put_devices(struct sheet *sheet, const struct asked *asked, const struct turns *turns)
{
    sheet_table(sheet, &device_table);
    for (size_t i = 0; i < turns->count; i++) {
        const struct turn_rank *rank = &turns->ranks[i];
        const double base = (double)rank->told_ns;
        for (size_t k = 0; k < rank->device_count; k++) {
            const struct fill_sums *sums = &rank->devices[k].sums;
            SHEET_ROW(sheet, value_int(device_rank_number(asked->trace, rank->shard)),
                      value_int(rank->devices[k].device), share(sums->busy_ns, base),
                      value_if(sums->blocks_ns > 0, share(sums->blocks_ns, base)),
                      share(sums->occupied / 100, sums->told_ns));
        }
    }
    sheet_end(sheet);
}

// --- all of it ---------------------------------------------------------------------------

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct turns turns;
    size_t steps = 0;
    char title[100];
    int status = turns_make(&turns, asked->trace, asked->chosen);
    if (status)
        return status;
    for (size_t i = 0; i < turns.count; i++)
        steps += turns.ranks[i].steps;
    snprintf(title, sizeof title, "%zu step%s of %zu rank%s", steps, units_plural(steps),
             turns.count, units_plural(turns.count));
    sheet_title(sheet, asked->path, steps ? title : "No step is on record");
    put_steps(sheet, asked, &turns);
    ledgers_put(sheet, asked->trace, &turns);
    ledgers_show(sheet, asked->trace, &turns);
    put_devices(sheet, asked, &turns);
    turns_finish(&turns);
    return GAIT_OK;
}

const struct answer steps_answer = {
    .summary = "Lists the steps, says where their time went, and how full the devices were.",
    .about = {"A turn lasts from the begin of a step to the begin of the next one; the last, to "
              "the end of the step or of the work that was given to devices in it. Host is the "
              "step itself, period the time since the step before ended, on the host and on its "
              "devices.",
              "Each nanosecond of a turn is computing, else communication alone, else copies "
              "alone, else idle. Idle time is of what the host did then, the first of these: it "
              "waited for input, was in a call that blocks, allocated, launched, was in an op, in "
              "Python, or in nothing on record. The parts sum to the turn.",
              "Kernels run: the share of the turns with a kernel on the device. SM efficiency: "
              "blocks by multiprocessor, each counted once at most. Occupancy: the mean that the "
              "kernels tell, weighted by time.",
              "--from and --to choose the steps that begin in that time, as a whole."},
    .examples = {{"gait steps trace.json.gz",
                  "Where each step went, and how full the devices were."}},
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_WHOLE,
    .put = put,
    .is_rare = true,
};
