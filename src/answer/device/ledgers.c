// SPDX-License-Identifier: Apache-2.0
#include "answer/device/ledgers.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/device/turns.h"
#include "answer/device/device_table.h"
#include "answer/sheet.h"
#include "base/units.h"
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
    SHEET_ROW(sheet, value_text(id), value_uint(ns), value_share(ns, total_ns));
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

static uint64_t phases_of(const struct recorded_steps *recorded, uint32_t shard)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < recorded->phase_count; i++)
        ns += recorded->phases[i].shard == shard ? recorded->phases[i].ns : 0;
    return ns;
}

// Of another tool's trace phases are known by the names of ranges and ops: one without them tells
// nothing. Steps may overlap.
bool host_parts_begin(struct host_parts *parts, const struct turns *turns,
                      const struct turn_rank *rank)
{
    const uint64_t phases_ns = phases_of(&turns->recorded, rank->shard);
    uint64_t host_ns = rank->host_ns > rank->total_ns ? rank->total_ns : rank->host_ns;
    host_ns = host_ns > phases_ns ? host_ns : phases_ns;
    *parts = (struct host_parts){
        .turns = turns, .rank = rank, .phases_ns = phases_ns, .host_ns = host_ns};
    return host_ns <= rank->total_ns && (!rank->is_imported || phases_ns);
}

const char *host_parts_next(struct host_parts *parts, uint64_t *ret_ns)
{
    const struct recorded_steps *recorded = &parts->turns->recorded;
    while (parts->at < recorded->phase_count) {
        const struct recorded_phase *phase = &recorded->phases[parts->at++];
        *ret_ns = phase->ns;
        if (phase->shard == parts->rank->shard)
            return phase->name;
    }
    const uint64_t rest_ns[] = {parts->host_ns - parts->phases_ns,
                                parts->rank->total_ns - parts->host_ns};
    static const char *const names[] = {"no_phase", "between"};
    for (size_t i; (i = parts->at - recorded->phase_count) < 2;) {
        parts->at++;
        *ret_ns = rest_ns[i];
        if (rest_ns[i])
            return names[i];
    }
    return NULL;
}

static void put_host_parts(struct sheet *sheet, const struct turns *turns,
                           const struct turn_rank *rank)
{
    static const struct table table = {.key = "host", COLUMNS_ARE(part_columns)};
    struct host_parts parts;
    uint64_t ns;
    if (!host_parts_begin(&parts, turns, rank)) {
        sheet_put(sheet, "host", value_none());
        return;
    }
    sheet_table(sheet, &table);
    for (const char *name; (name = host_parts_next(&parts, &ns));)
        put_part(sheet, name, ns, rank->total_ns);
    sheet_end(sheet);
}

static void begin_ledger(struct sheet *sheet, const struct gait_trace *trace,
                         const struct turn_rank *rank, size_t steps, uint64_t total_ns)
{
    const char *source = gait_trace_metadata(trace, rank->shard, meta.source);
    struct gait_shard_info shard;
    const bool is_known = !gait_trace_shard(trace, rank->shard, &shard);
    SHEET_ROW(sheet, value_text("turn"), value_int(device_rank_number(trace, rank->shard)),
              value_uint(steps), value_uint(total_ns),
              source     ? value_json(source)
              : is_known ? value_text(shard.path)
                         : value_none());
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
    put_host_parts(sheet, turns, rank);
}

void ledgers_put(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns)
{
    static const struct table table = {.key = "ledgers", COLUMNS_ARE(ledger_columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < turns->count; i++)
        put_ledger(sheet, trace, turns, &turns->ranks[i]);
    sheet_end(sheet);
}

// --- for people ---------------------------------------------------------------------------

// Each column of the screen, and the parts that it sums.
#define BIT(part) (1u << (part))
#define SHOWN(X)                                                                                   \
    X("comp.", BIT(LANE_COMPUTE))                                                                  \
    X("comm", BIT(LANE_COMM))                                                                      \
    X("copies", BIT(LANE_COPY))                                                                    \
    SHOWN_OF_HOST(X)
#define SHOWN_OF_HOST(X)                                                                           \
    X("input", BIT(ACTIVITY_INPUT))                                                                \
    X("blocked", BIT(ACTIVITY_BLOCKING))                                                           \
    X("calls", BIT(ACTIVITY_ALLOC) | BIT(ACTIVITY_LAUNCH))                                         \
    X("ops", BIT(ACTIVITY_OP))                                                                     \
    X("Python", BIT(ACTIVITY_PYTHON))                                                              \
    X("none", BIT(TURN_NOTHING))
static const unsigned shown[] = {
#define X(text, parts) parts,
    SHOWN(X)
#undef X
};
enum { SHOWN_COUNT = sizeof shown / sizeof shown[0], HOST_SHOWN = SHOWN_COUNT - LANE_COUNT };

static void show_rank(struct sheet *sheet, const struct gait_trace *trace,
                      const struct turn_rank *rank)
{
    struct value cells[1 + SHOWN_COUNT] = {value_int(device_rank_number(trace, rank->shard))};
    for (size_t i = 0; i < SHOWN_COUNT; i++) {
        uint64_t ns = 0;
        for (unsigned part = 0; part < TURN_PARTS; part++)
            ns += shown[i] >> part & 1 ? rank->sums.ns[part] : 0;
        cells[1 + i] = value_share(ns, rank->told_ns);
    }
    sheet_row(sheet, cells, 0);
}

static void show_shares(struct sheet *sheet, const struct gait_trace *trace,
                        const struct turns *turns)
{
    static const struct column columns[1 + SHOWN_COUNT] = {{.label = "", .width = 12},
#define X(text, parts) {.label = text, .unit = UNIT_SHARE, .width = 7},
                                                           SHOWN(X)
#undef X
    };
    static const struct table table = {
        .heading = "Turns, rank", COLUMNS_ARE(columns), .most = 16, .more = "more"};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < turns->count; i++)
        if (turns->ranks[i].told)
            show_rank(sheet, trace, &turns->ranks[i]);
    sheet_end(sheet);
}

// A bar a part, of all ranks together.
static void show_bars(struct sheet *sheet, const struct turn_sums *sums, uint64_t total_ns)
{
    static const struct column columns[] = {
        {.label = "", .flags = COLUMN_LEFT},
        {.label = "total", .unit = UNIT_NS},
        {.label = "share", .unit = UNIT_SHARE},
        {.label = "", .flags = COLUMN_BAR},
    };
    static const struct table table = {
        .heading = "Turns of all ranks", COLUMNS_ARE(columns), .is_of_page = true};
    sheet_table(sheet, &table);
    for (unsigned part = 0; part < TURN_PARTS; part++) {
        const struct value ns = value_uint(sums->ns[part]);
        const struct value cells[] = {value_text(part_ids[part]), ns,
                                      value_share(sums->ns[part], total_ns), ns};
        if (sums->ns[part])
            sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

void ledgers_show(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns)
{
    struct turn_sums sums = {0};
    uint64_t total_ns = 0;
    for (size_t i = 0; i < turns->count; i++) {
        total_ns += turns->ranks[i].told_ns;
        for (unsigned part = 0; part < TURN_PARTS; part++)
            sums.ns[part] += turns->ranks[i].sums.ns[part];
    }
    if (!total_ns)
        return;
    show_bars(sheet, &sums, total_ns);
    show_shares(sheet, trace, turns);
}

// --- devices by host ------------------------------------------------------------------------

static const char *state_id(unsigned state)
{
    return state == ACTIVITY_IDLE ? "idle" : part_ids[state];
}

static const char *base_id(const struct rank_activity *activity)
{
    static const char *const ids[] = {[ACTIVITY_OF_TURNS] = "turn",
                                      [ACTIVITY_OF_WINDOW] = "window",
                                      [ACTIVITY_OF_CHOICE] = "choice"};
    return ids[activity->base];
}

// A state of devices, or with ACTIVITY_STATES all; of the parts of the host.
static uint64_t time_in(const struct rank_activity *activity, unsigned state, unsigned parts)
{
    uint64_t ns = 0;
    for (unsigned at = 0; at < ACTIVITY_STATES; at++)
        for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
            ns += (at == state || state == ACTIVITY_STATES) && parts >> (LANE_COUNT + host) & 1
                      ? activity->sums.ns[at][host]
                      : 0;
    return ns;
}

static const struct column activity_columns[] = {{.key = "rank"}, {.key = "base"}, {.key = "state"},
                                                 {.key = "host"}, {.key = "ns"},   {.key = "share"},
                                                 {.key = "of_ns"}};

static void put_cell(struct sheet *sheet, const struct gait_trace *trace,
                     const struct rank_activity *activity, unsigned state, unsigned host)
{
    const uint64_t of_ns = activity_sums_total(&activity->sums);
    const bool is_state = state < ACTIVITY_STATES, is_host = host < ACTIVITY_HOSTS;
    const uint64_t ns = time_in(activity, state, is_host ? BIT(LANE_COUNT + host) : ~0u);
    SHEET_ROW(sheet, value_int(device_rank_number(trace, activity->shard)),
              value_text(base_id(activity)), is_state ? value_text(state_id(state)) : value_none(),
              is_host ? value_text(part_ids[LANE_COUNT + host]) : value_none(), value_uint(ns),
              value_share(ns, of_ns), value_uint(of_ns));
}

void activities_put(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns)
{
    static const struct table cells = {.key = "activity", COLUMNS_ARE(activity_columns)};
    static const struct table totals = {.key = "activity_totals", COLUMNS_ARE(activity_columns)};
    sheet_table(sheet, &cells);
    for (size_t i = 0; i < turns->activity_count; i++)
        for (unsigned cell = 0; cell < ACTIVITY_STATES * ACTIVITY_HOSTS; cell++)
            put_cell(sheet, trace, &turns->activities[i], cell / ACTIVITY_HOSTS,
                     cell % ACTIVITY_HOSTS);
    sheet_end(sheet);
    sheet_table(sheet, &totals);
    for (size_t i = 0; i < turns->activity_count; i++) {
        for (unsigned state = 0; state < ACTIVITY_STATES; state++)
            put_cell(sheet, trace, &turns->activities[i], state, ACTIVITY_HOSTS);
        for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
            put_cell(sheet, trace, &turns->activities[i], ACTIVITY_STATES, host);
    }
    sheet_end(sheet);
}

static void show_state(struct sheet *sheet, const struct rank_activity *activity, unsigned state)
{
    enum { BEFORE = 3 };
    static const char *const names[] = {"computing", "comm", "copies", "idle", "all"};
    const uint64_t of_ns = activity_sums_total(&activity->sums);
    const uint64_t ns = time_in(activity, state, ~0u);
    struct value cells[BEFORE + HOST_SHOWN] = {value_text(names[state]), value_uint(ns),
                                               value_share(ns, of_ns)};
    for (unsigned i = 0; i < HOST_SHOWN; i++)
        cells[BEFORE + i] = value_share(time_in(activity, state, shown[LANE_COUNT + i]), of_ns);
    sheet_row(sheet, cells, state == ACTIVITY_STATES ? ROW_TOTAL : 0);
}

void activity_show(struct sheet *sheet, const struct gait_trace *trace,
                   const struct rank_activity *activity, bool is_of_page)
{
    static const struct column columns[] = {{.label = "", .flags = COLUMN_LEFT, .width = 11},
                                            {.label = "time", .unit = UNIT_NS, .width = 9},
                                            {.label = "share", .unit = UNIT_SHARE, .width = 8},
#define X(text, parts) {.label = text, .unit = UNIT_SHARE, .width = 8},
                                            SHOWN_OF_HOST(X)
#undef X
    };
    const struct table table = {.heading = "Rank", COLUMNS_ARE(columns), .is_of_page = is_of_page};
    char heading[80], base[40];
    snprintf(base, sizeof base, "%" PRIu64 " step%s", activity->steps,
             units_plural(activity->steps));
    snprintf(heading, sizeof heading, "%s%s of rank %" PRId64,
             is_of_page ? "What the host did: " : "",
             activity->base == ACTIVITY_OF_TURNS ? base : base_id(activity),
             device_rank_number(trace, activity->shard));
    sheet_table_copy(sheet, &table);
    sheet_heading(sheet, heading);
    for (unsigned state = 0; state <= ACTIVITY_STATES; state++)
        show_state(sheet, activity, state);
    sheet_end(sheet);
}
