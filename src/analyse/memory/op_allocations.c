// SPDX-License-Identifier: Apache-2.0
// memory_life.h finds the peak, and so the window; a walk through that window then makes a row
// of its blocks, from which all else follows.
#include "analyse/memory/op_allocations.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ops/op_walk.h"
#include "analyse/ops/tuple_map.h"
#include "analyse/report/torch_report.h"
#include "analyse/time/wrap_add.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_BLOCKS = 1 << 22 };

struct block {
    int64_t bytes, start_ns, end_ns; // INT64_MAX: not given back
    uint32_t op, module, phase;
};

struct change {
    int64_t at_ns, bytes;
};

struct blocks_taking {
    struct op_allocations *found;
    const char *device;
    const struct gait_trace *trace;
    struct arena *arena;
    const struct torch_phases *phases;
    struct block *rows;
    size_t count, room;
    struct tuple_map addresses; // to what lives there
    size_t *live;               // row + 1, 0: none
    size_t live_room;
    struct change *changes;
    size_t change_count, change_room;
    struct blocks_owner *ops, *modules, *of_phases; // of a site, behind them of none
    uint32_t *seen_by; // of a site: the last event that was added to its total
    uint32_t event;
};

// --- the walk -----------------------------------------------------------------------

static uint32_t row_of(const struct blocks_taking *blocks, uint32_t site)
{
    return site == TORCH_NOWHERE ? blocks->phases->site_count : site;
}

static void add_to_owners(struct blocks_taking *blocks, const struct torch_event *seen,
                          int64_t bytes)
{
    struct blocks_owner *op = &blocks->ops[row_of(blocks, seen->place.op)];
    struct blocks_owner *module = &blocks->modules[row_of(blocks, seen->place.module)];
    struct blocks_owner *phase = &blocks->of_phases[seen->place.phase];
    op->self_bytes = wrap_add(op->self_bytes, bytes);
    module->self_bytes = wrap_add(module->self_bytes, bytes);
    phase->self_bytes = wrap_add(phase->self_bytes, bytes);
    op->allocations += bytes > 0;
    module->allocations += bytes > 0;
    phase->allocations += bytes > 0;
    blocks->event++;
    for (size_t i = 0; i < seen->opened.count; i++) { // an op in itself counts once
        const uint32_t site = seen->opened.sites[i];
        if (blocks->seen_by[site] != blocks->event)
            blocks->ops[site].total_bytes = wrap_add(blocks->ops[site].total_bytes, bytes);
        blocks->seen_by[site] = blocks->event;
    }
}

static int note_change(struct blocks_taking *blocks, int64_t at_ns, int64_t bytes)
{
    return ARRAY_ADD(blocks->changes, blocks->change_count, blocks->change_room, MOST_BLOCKS,
                     &(struct change){at_ns, bytes});
}

static int add_block(struct blocks_taking *blocks, const struct torch_event *seen, size_t *live)
{
    const struct gait_event *event = seen->event;
    int status = ARRAY_RESERVE(blocks->rows, blocks->room, blocks->count + 1, MOST_BLOCKS);
    if (status)
        return status;
    blocks->rows[blocks->count++] =
        (struct block){event->value,   event->start_ns,    INT64_MAX,
                       seen->place.op, seen->place.module, seen->place.phase};
    *live = blocks->count;
    blocks->found->allocations++;
    blocks->found->allocated_bytes += (uint64_t)event->value;
    add_to_owners(blocks, seen, event->value);
    return note_change(blocks, event->start_ns, event->value);
}

static int end_block(struct blocks_taking *blocks, const struct torch_event *seen, size_t *live)
{
    struct op_allocations *found = blocks->found;
    if (!*live) {
        found->older_releases++;
        return seen->event->value ? note_change(blocks, seen->event->start_ns, seen->event->value)
                                  : GAIT_OK; // its size is not on record
    }
    struct block *block = &blocks->rows[*live - 1];
    block->end_ns = seen->event->start_ns;
    *live = 0;
    found->releases++;
    add_to_owners(blocks, seen, -block->bytes);
    return note_change(blocks, seen->event->start_ns, -block->bytes);
}

static int see(const struct torch_event *seen, void *context)
{
    struct blocks_taking *blocks = context;
    const struct gait_event *event = seen->event;
    const size_t known = blocks->addresses.count;
    uint32_t index;
    if (event->kind != GAIT_KIND_MEMORY || event->start_ns < blocks->found->start_ns ||
        event->start_ns >= blocks->found->end_ns || strcmp(event->name, blocks->device) != 0)
        return GAIT_OK;
    int status = tuple_map_add(&blocks->addresses, &event->id, &index);
    if (!status)
        status =
            ARRAY_RESERVE(blocks->live, blocks->live_room, blocks->addresses.count, UINT32_MAX);
    if (status)
        return status;
    if (blocks->addresses.count > known)
        blocks->live[index] = 0;
    return event->value > 0 ? add_block(blocks, seen, &blocks->live[index])
                            : end_block(blocks, seen, &blocks->live[index]);
}

// --- what follows -------------------------------------------------------------------

// The highest point of each stretch, and always the last one.
static int make_curve(const struct blocks_taking *blocks, struct arena *arena)
{
    struct op_allocations *found = blocks->found;
    const size_t stretch = blocks->change_count / (BLOCKS_MOST_POINTS - 1) + 1;
    int64_t bytes = found->before_bytes;
    found->curve = arena_take(arena, BLOCKS_MOST_POINTS * sizeof *found->curve);
    if (!found->curve)
        return fail(GAIT_ERR_MEMORY, "no memory for a curve");
    for (size_t i = 0; i < blocks->change_count; i++) {
        bytes = wrap_add(bytes, blocks->changes[i].bytes);
        const struct blocks_point point = {blocks->changes[i].at_ns, bytes};
        const bool is_last = i + 1 == blocks->change_count && i % stretch;
        if (i % stretch == 0 || is_last)
            found->curve[found->curve_count++] = point;
        else if (bytes > found->curve[found->curve_count - 1].bytes)
            found->curve[found->curve_count - 1] = point;
    }
    return GAIT_OK;
}

static void add_held(struct blocks_owner *owner, const struct block *block, bool is_at_peak)
{
    owner->peak_bytes += is_at_peak ? (uint64_t)block->bytes : 0;
    if (block->end_ns == INT64_MAX) {
        owner->kept_bytes += (uint64_t)block->bytes;
        owner->kept++;
    }
}

static void find_held(const struct blocks_taking *blocks)
{
    struct op_allocations *found = blocks->found;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct block *block = &blocks->rows[i];
        const bool is_at_peak = block->start_ns <= found->peak_ns && block->end_ns > found->peak_ns;
        add_held(&blocks->ops[row_of(blocks, block->op)], block, is_at_peak);
        add_held(&blocks->modules[row_of(blocks, block->module)], block, is_at_peak);
        add_held(&blocks->of_phases[block->phase], block, is_at_peak);
        found->kept += block->end_ns == INT64_MAX;
        found->kept_bytes += block->end_ns == INT64_MAX ? (uint64_t)block->bytes : 0;
    }
}

static int by_peak(const void *left, const void *right)
{
    const struct blocks_owner *a = left, *b = right;
    RETURN_IF_APART(b->peak_bytes, a->peak_bytes);
    RETURN_IF_APART(b->allocations, a->allocations);
    return strcmp(a->name, b->name);
}

// Those that had any memory.
static int put_owners(struct blocks_owners *owners, const struct blocks_owner *rows, size_t count,
                      const struct gait_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct gait_site_info site = {.name = ""};
        if (!rows[i].allocations && !rows[i].self_bytes && !rows[i].total_bytes)
            continue;
        if (i < gait_trace_site_count(trace)) {
            int status = gait_trace_site(trace, (uint32_t)i, &site);
            if (status)
                return status;
        }
        owners->rows[kept] = rows[i];
        owners->rows[kept++].name = site.name;
    }
    owners->count = kept;
    qsort(owners->rows, kept, sizeof *rows, by_peak);
    return GAIT_OK;
}

static void put_phases(struct blocks_owners *owners, const struct blocks_taking *blocks)
{
    for (size_t i = 0; i < blocks->phases->count; i++) {
        if (!blocks->of_phases[i].allocations && !blocks->of_phases[i].self_bytes)
            continue;
        owners->rows[owners->count] = blocks->of_phases[i];
        owners->rows[owners->count++].name = blocks->phases->names[i];
    }
    qsort(owners->rows, owners->count, sizeof *owners->rows, by_peak);
}

static int take_rows(struct blocks_owners *owners, size_t count, struct arena *arena)
{
    owners->rows = arena_take(arena, count * sizeof *owners->rows);
    return owners->rows ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for who holds memory");
}

static int put_all(const struct blocks_taking *blocks, const struct gait_trace *trace,
                   struct arena *arena)
{
    struct op_allocations *found = blocks->found;
    const size_t sites = (size_t)blocks->phases->site_count + 1;
    find_held(blocks);
    int status = make_curve(blocks, arena);
    if (!status)
        status = take_rows(&found->ops, sites, arena);
    if (!status)
        status = take_rows(&found->modules, sites, arena);
    if (!status)
        status = take_rows(&found->phases, TORCH_MOST_PHASES, arena);
    if (!status)
        status = put_owners(&found->ops, blocks->ops, sites, trace);
    if (!status)
        status = put_owners(&found->modules, blocks->modules, sites, trace);
    if (!status)
        put_phases(&found->phases, blocks);
    return status;
}

// --- all ------------------------------------------------------------------------------

int op_allocations_begin(struct blocks_taking **ret_taking, struct op_walk *walk,
                         struct torch_report *torch, struct arena *arena)
{
    const size_t sites = (size_t)torch->phases.site_count + 1;
    struct op_allocations *found = &torch->blocks;
    struct blocks_taking *taking = calloc(1, sizeof *taking);
    if (!taking)
        return fail(GAIT_ERR_MEMORY, "no memory for who holds memory");
    found->start_ns = torch->memory.start_ns;
    found->end_ns = torch->memory.end_ns;
    found->peak_bytes = torch->memory.peak_bytes;
    found->peak_ns = torch->memory.peak_ns;
    found->before_bytes = torch->memory.before_bytes;
    *taking = (struct blocks_taking){
        .found = found,
        .device = torch->memory.device,
        .trace = walk->trace,
        .arena = arena,
        .phases = &torch->phases,
        .ops = calloc(sites, sizeof *taking->ops),
        .modules = calloc(sites, sizeof *taking->modules),
        .of_phases = calloc(TORCH_MOST_PHASES, sizeof *taking->of_phases),
        .seen_by = calloc(sites, sizeof *taking->seen_by),
    };
    tuple_map_init(&taking->addresses, 1);
    if (!taking->ops || !taking->modules || !taking->of_phases || !taking->seen_by) {
        op_allocations_drop(taking);
        return fail(GAIT_ERR_MEMORY, "no memory for who holds memory");
    }
    const struct op_walker walker = {see, taking,
                                     found->start_ns == INT64_MIN ? 0 : found->start_ns,
                                     found->end_ns == INT64_MAX ? 0 : found->end_ns};
    op_walk_add(walk, &walker);
    *ret_taking = taking;
    return GAIT_OK;
}

int op_allocations_end(struct blocks_taking *taking)
{
    const int status = put_all(taking, taking->trace, taking->arena);
    op_allocations_drop(taking);
    return status;
}

void op_allocations_drop(struct blocks_taking *taking)
{
    if (!taking)
        return;
    tuple_map_finish(&taking->addresses);
    free(taking->rows);
    free(taking->live);
    free(taking->changes);
    free(taking->ops);
    free(taking->modules);
    free(taking->of_phases);
    free(taking->seen_by);
    free(taking);
}
