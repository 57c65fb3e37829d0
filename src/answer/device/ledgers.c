// SPDX-License-Identifier: Apache-2.0
#include "answer/device/ledgers.h"

#include "analyse/device/turns.h"
#include "answer/device/device_table.h"
#include "answer/sheet.h"
#include "vocabulary/metadata.h"

// The parts of a ledger by their names, in the order of struct turn_sums.
static const char *const part_ids[TURN_PARTS] = {
    [LANE_COMPUTE] = "computing",
    [LANE_COMM] = "communication",
    [LANE_COPY] = "copies",
#define X(identifier, id) [ACTIVITY_##identifier] = id,
    HOST_ACTIVITIES(X)
#undef X
        [TURN_NOTHING] = "nothing",
};

static const struct column ledger_columns[] = {
    {.key = "base"}, {.key = "rank"}, {.key = "steps"}, {.key = "total_ns"}, {.key = "file"}};
static const struct column part_columns[] = {{.key = "id"}, {.key = "ns"}, {.key = "share"}};

static void put_part(struct sheet *sheet, const char *id, uint64_t ns, uint64_t total_ns)
{
    const struct value cells[] = {value_text(id), value_uint(ns), value_share(ns, total_ns)};
    sheet_row(sheet, cells, 0);
}

// What devices did; of idle time, what the host did then.
static void put_device_parts(struct sheet *sheet, const struct turn_sums *sums, uint64_t total_ns)
{
    static const struct table table = {.key = "device", COLUMNS_ARE(part_columns)};
    sheet_table(sheet, &table);
    for (unsigned i = 0; i < TURN_PARTS; i++)
        put_part(sheet, part_ids[i], sums->ns[i], total_ns);
    sheet_end(sheet);
}

// The phases of the steps; what of a step has none, and what lies between steps.
static void put_host_parts(struct sheet *sheet, const struct recorded_steps *recorded,
                           const struct turn_rank *rank)
{
    static const struct table table = {.key = "host", COLUMNS_ARE(part_columns)};
    const uint64_t total_ns = rank->total_ns;
    uint64_t phases_ns = 0;
    sheet_table(sheet, &table);
    for (size_t i = 0; i < recorded->phase_count; i++) {
        if (recorded->phases[i].shard != rank->shard)
            continue;
        put_part(sheet, recorded->phases[i].name, recorded->phases[i].ns, total_ns);
        phases_ns += recorded->phases[i].ns;
    }
    uint64_t host_ns = rank->host_ns > total_ns ? total_ns : rank->host_ns; // steps may overlap
    host_ns = host_ns > phases_ns ? host_ns : phases_ns;
    if (host_ns > phases_ns)
        put_part(sheet, "no_phase", host_ns - phases_ns, total_ns);
    if (total_ns > host_ns)
        put_part(sheet, "between", total_ns - host_ns, total_ns);
    sheet_end(sheet);
}

static void begin_ledger(struct sheet *sheet, const struct gait_trace *trace,
                         const struct turn_rank *rank, size_t steps, uint64_t total_ns)
{
    const char *source = gait_trace_metadata(trace, rank->shard, meta.source);
    struct gait_shard_info shard;
    const bool is_known = !gait_trace_shard(trace, rank->shard, &shard);
    const struct value cells[] = {value_text("turn"),
                                  value_int(device_rank_number(trace, rank->shard)),
                                  value_uint(steps), value_uint(total_ns),
                                  source     ? value_json(source)
                                  : is_known ? value_text(shard.path)
                                             : value_none()};
    sheet_row(sheet, cells, 0);
}

// Where devices are on record in some of the turns alone, those have a ledger of their own.
static void put_ledger(struct sheet *sheet, const struct gait_trace *trace,
                       const struct turns *turns, const struct turn_rank *rank)
{
    const bool is_apart = rank->told && rank->told < rank->steps;
    if (is_apart) {
        begin_ledger(sheet, trace, rank, rank->told, rank->told_ns);
        put_device_parts(sheet, &rank->sums, rank->told_ns);
        sheet_put(sheet, "host", value_none());
    }
    begin_ledger(sheet, trace, rank, rank->steps, rank->total_ns);
    if (rank->told && !is_apart)
        put_device_parts(sheet, &rank->sums, rank->told_ns);
    else
        sheet_put(sheet, "device", value_none());
    if (rank->is_imported)
        sheet_put(sheet, "host", value_none());
    else
        put_host_parts(sheet, &turns->recorded, rank);
}

void ledgers_put(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns)
{
    static const struct table table = {.key = "ledgers", COLUMNS_ARE(ledger_columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < turns->count; i++)
        put_ledger(sheet, trace, turns, &turns->ranks[i]);
    sheet_end(sheet);
}
