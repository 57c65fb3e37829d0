// SPDX-License-Identifier: Apache-2.0
#include "answer/device/device_table.h"

void device_parts_find(const struct breakdown *breakdown, bool is_known,
                       struct value ret_parts[DEVICE_PARTS])
{
    const uint64_t parts[DEVICE_PARTS] = {
        breakdown->span_ns,
        breakdown_time(breakdown, DEVICE_COMPUTE, DEVICE_COMM),
        breakdown_time(breakdown, DEVICE_COMPUTE | DEVICE_COMM, 0),
        breakdown_time(breakdown, DEVICE_COMM, DEVICE_COMPUTE),
        breakdown_time(breakdown, DEVICE_COPY, DEVICE_COMPUTE | DEVICE_COMM),
        breakdown->state_ns[0],
    };
    for (size_t i = 0; i < DEVICE_PARTS; i++)
        ret_parts[i] = value_if(is_known, value_uint(parts[i]));
}

int64_t device_rank_number(const struct gait_trace *trace, uint32_t shard)
{
    struct gait_shard_info info;
    return gait_trace_shard(trace, shard, &info) || info.rank < 0 ? 0 : info.rank;
}

// --- under the host's ledger -----------------------------------------------------------

static const struct column columns[] = {
    {.key = "rank", .label = "", .width = 13},
    {.key = "span_ns", .label = "time", .unit = UNIT_NS, .width = 11},
    {.key = "compute_ns", .label = "compute", .unit = UNIT_NS, .width = 9},
    {.key = "overlap_ns", .label = "overlap", .unit = UNIT_NS, .width = 9},
    {.key = "exposed_comm_ns", .label = "exposed comm", .unit = UNIT_NS, .width = 13},
    {.key = "exposed_copy_ns", .label = "copies", .unit = UNIT_NS, .width = 8},
    {.key = "idle_ns", .label = "idle", .unit = UNIT_NS, .width = 9},
    {.key = "host_late_ns"},
    {.key = "launch_latency_ns"},
    {.key = "dependency_ns"},
    {.key = "gap_ns"},
    {.key = "unknown_ns"},
};
static const struct table table = {
    .key = "devices", .heading = "Devices, rank", COLUMNS_ARE(columns), .most = 16, .more = "more"};

static const struct value *add_causes(struct value *cells, const struct breakdown *whole)
{
    for (unsigned cause = 0; cause < IDLE_CAUSES; cause++)
        cells[1 + DEVICE_PARTS + cause] = value_uint(whole->idle_ns[cause]);
    return cells;
}

void device_ledger_put(struct sheet *sheet, const struct gait_trace *trace,
                       const struct device_run *run)
{
    bool has_device = false;
    for (size_t i = 0; i < run->count; i++)
        has_device |= run->ranks[i].has_device;
    if (!has_device)
        return;
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count; i++) {
        struct value cells[1 + DEVICE_PARTS + IDLE_CAUSES] = {
            value_int(device_rank_number(trace, run->ranks[i].shard))};
        device_parts_find(&run->ranks[i].whole, true, &cells[1]);
        if (run->ranks[i].has_device)
            sheet_row(sheet, add_causes(cells, &run->ranks[i].whole), 0);
    }
    sheet_end(sheet);
}
