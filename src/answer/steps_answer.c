// SPDX-License-Identifier: Apache-2.0
// `gait steps`: where each step of a profiler went, by priority, and how full the devices were.
#include <math.h>
#include <stdlib.h>

#include "analyse/device/step_shares.h"
#include "answer/answers.h"
#include "base/fail.h"
#include "base/units.h"

static const struct column step_columns[] = {
    {.key = "name", .label = "", .flags = COLUMN_LEFT, .width = 15},
    {.key = "rank", .label = "rank", .width = 5},
    {.key = "total_ns", .label = "time", .unit = UNIT_NS, .width = 8},
    {.key = "kernel_ns", .label = "kernels", .unit = UNIT_NS, .width = 8},
    {.key = "memcpy_ns", .label = "copies", .unit = UNIT_NS, .width = 8},
    {.key = "memset_ns"},
    {.key = "communication_ns", .label = "comm", .unit = UNIT_NS, .width = 8},
    {.key = "runtime_ns", .label = "runtime", .unit = UNIT_NS, .width = 8},
    {.key = "dataloader_ns", .label = "loader", .unit = UNIT_NS, .width = 8},
    {.key = "cpu_op_ns", .label = "ops", .unit = UNIT_NS, .width = 8},
    {.key = "other_ns"},
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

static struct value share_or_none(double share)
{
    const bool is_known = isfinite(share);
    return value_if(is_known,
                    value_share((uint64_t)(fmax(is_known ? share : 0, 0) * 1e9), 1000000000));
}

static void put_steps(struct sheet *sheet, const struct step_shares *shares)
{
    for (size_t i = 0; i < shares->count; i++) {
        const struct step_shares_row *row = &shares->rows[i];
        const uint64_t *ns = row->ns;
        const struct value cells[] = {
            value_text(row->name),
            value_int(shares->rank),
            value_uint((uint64_t)row->end_ns - (uint64_t)row->start_ns),
            value_uint(ns[STEP_SHARE_KERNEL]),
            value_uint(ns[STEP_SHARE_COPY]),
            value_uint(ns[STEP_SHARE_SET]),
            value_uint(ns[STEP_SHARE_COLLECTIVE]),
            value_uint(ns[STEP_SHARE_RUNTIME]),
            value_uint(ns[STEP_SHARE_LOADER]),
            value_uint(ns[STEP_SHARE_OP]),
            value_uint(ns[STEP_SHARE_OTHER]),
            value_int(row->start_ns),
        };
        sheet_row(sheet, cells, 0);
    }
}

static void put_devices(struct sheet *sheet, const struct step_shares *shares)
{
    for (size_t i = 0; i < shares->device_count; i++) {
        const struct step_shares_device *device = &shares->devices[i];
        const struct value cells[] = {
            value_int(shares->rank),
            value_int(device->device),
            share_or_none(device->utilisation),
            share_or_none(device->sm_efficiency),
            share_or_none(device->occupancy / 100),
        };
        sheet_row(sheet, cells, 0);
    }
}

static void put_ranks(struct sheet *sheet, const struct step_shares *ranks, uint32_t count)
{
    size_t steps = 0;
    sheet_table(sheet, &step_table);
    for (uint32_t i = 0; i < count; i++) {
        put_steps(sheet, &ranks[i]);
        steps += ranks[i].count;
    }
    sheet_end(sheet);
    sheet_table(sheet, &device_table);
    for (uint32_t i = 0; i < count; i++)
        put_devices(sheet, &ranks[i]);
    sheet_end(sheet);
    if (!steps)
        sheet_say(sheet, SAY_PARAGRAPH,
                  "No step of a profiler (ProfilerStep#N) is on record; gait report has the steps "
                  "that gait recorded.");
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    const uint32_t count = gait_trace_shard_count(asked->trace);
    struct step_shares *ranks = calloc((size_t)count + 1, sizeof *ranks);
    struct recorded_steps recorded;
    int status = recorded_steps_find(&recorded, asked->trace);
    if (!status && !ranks)
        status = fail(GAIT_ERR_MEMORY, "no memory for %u ranks", count);
    for (uint32_t i = 0; i < count && !status; i++)
        status = step_shares_make(&ranks[i], asked->trace, i, &recorded);
    sheet_title(sheet, asked->path,
                recorded.count ? "Steps with devices on record, shared out by priority"
                               : "Steps as a profiler numbered them, shared out by priority");
    if (!status)
        put_ranks(sheet, ranks, count);
    for (uint32_t i = 0; i < count && ranks; i++)
        step_shares_finish(&ranks[i]);
    free(ranks);
    recorded_steps_finish(&recorded);
    return status;
}

static const struct example examples[] = {
    {"gait steps trace.json.gz", "Where each step went, and how full the devices were."},
    {NULL, NULL},
};

static const char *const about[] = {
    "Each nanosecond of a step belongs to the first of these that lasts then: kernels, copies, "
    "memsets, communication, calls of the runtime, the data loader, ops; what is left is other. "
    "The parts sum to the step.",
    "Kernels run: the share of the steps with a kernel on the device. SM efficiency: blocks by "
    "multiprocessor, each counted once at most. Occupancy: the mean that the kernels tell, "
    "weighted "
    "by time.",
    NULL,
};

const struct answer steps_answer = {
    .summary = "Shares out the time of each step of a profiler, and says how full the devices "
               "were.",
    .about = about,
    .examples = examples,
    .put = put,
    .is_rare = true,
};
