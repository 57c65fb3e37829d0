// SPDX-License-Identifier: Apache-2.0
// Formulas stand with their figures: others mean other things by the names.
#include "answer/report/work_answer.h"

#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "answer/sentence_text.h"
#include "answer/sheet.h"
#include "base/units.h"

enum { MOST_OPS = 100, MOST_MODULES = 1000, MOST_NAMED = 3 };

static const char flops_formula[] =
    "matrix products 2*M*N*K, convolutions 2*N*points*kernel*channels_in*channels_out/groups (the "
    "same again for each gradient), attention by its products, all other ops 0; for the middle "
    "recorded step";
static const char mfu_formula[] =
    "FLOPs of the middle recorded step * steps_per_s of throughput / peak of the device";

static struct value positive(double value)
{
    return value_if(value > 0, value_real(value));
}

// --- FLOPs --------------------------------------------------------------------------

static void put_flops_by_op(struct sheet *sheet, const struct torch_flops *flops)
{
    static const struct column columns[] = {
        {.key = "name"}, {.key = "calls"}, {.key = "flops"}, {.key = "total_ns"}};
    static const struct table table = {.key = "by_op", .columns = columns, .count = 4};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < flops->op_count && i < MOST_OPS; i++) {
        const struct flops_op *op = &flops->ops[i];
        SHEET_ROW(sheet, value_text(op->name), value_uint(op->calls), value_uint(op->flops),
                  value_uint(op->total_ns));
    }
    sheet_end(sheet);
}

static void put_flops_by_module(struct sheet *sheet, const struct torch_flops *flops)
{
    static const struct column columns[] = {
        {.key = "name"}, {.key = "flops"}, {.key = "self_flops"}, {.key = "share"}};
    static const struct table table = {.key = "by_module", .columns = columns, .count = 4};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < flops->module_count && i < MOST_MODULES; i++) {
        const struct flops_module *module = &flops->modules[i];
        SHEET_ROW(sheet, value_text(module->name), value_uint(module->flops),
                  value_uint(module->self_flops), value_share(module->flops, flops->total));
    }
    sheet_end(sheet);
}

static void put_flops(struct sheet *sheet, const struct torch_flops *flops, const struct mfu *mfu)
{
    if (!flops->total) {
        sheet_put(sheet, "flops", value_none());
        return;
    }
    sheet_object(sheet, "flops");
    sheet_put(sheet, "steps", value_uint(flops->counted_steps));
    sheet_put(sheet, "total", value_uint(flops->total));
    sheet_put(sheet, "per_step", value_uint(flops->per_step));
    sheet_put(sheet, "per_second", positive(mfu->flops_per_s));
    sheet_put(sheet, "formula", value_text(flops_formula));
    sheet_object(sheet, "as_flop_counter_mode");
    sheet_put(sheet, "total", value_uint(flops->counted));
    sheet_put(sheet, "per_step", value_uint(flops->counted_per_step));
    sheet_end(sheet);
    put_flops_by_op(sheet, flops);
    put_flops_by_module(sheet, flops);
    sheet_end(sheet);
}

static void put_mfu(struct sheet *sheet, const struct mfu *mfu)
{
    sheet_object(sheet, "mfu");
    sheet_put(sheet, "value", positive(mfu->is_known ? mfu->value : 0));
    sheet_put(sheet, "flops_per_s", positive(mfu->flops_per_s));
    sheet_put(sheet, "peak_flops_per_s", positive(mfu->peak));
    sheet_put(sheet, "device", value_text(mfu->device));
    sheet_put(sheet, "formula", value_text(mfu_formula));
    sheet_put(sheet, "why", value_text(sentence_note(mfu->why)));
    sheet_end(sheet);
}

static void say_flops(struct sheet *sheet, const struct run_report *report, const struct mfu *mfu)
{
    const uint64_t per_step = report->torch->flops.per_step;
    const bool is_named = report->peak_flops <= 0 && mfu->device;
    char text[400], more[240];
    if (!per_step || mfu->flops_per_s <= 0)
        return;
    if (mfu->is_known)
        snprintf(more, sizeof more, "MFU %.3g %% of %s/s%s%.80s", mfu->value * 100,
                 units_flops(mfu->peak).text, is_named ? ", " : "", is_named ? mfu->device : "");
    else
        snprintf(more, sizeof more, "no MFU: %s", sentence_note(mfu->why));
    snprintf(text, sizeof text, "%s a step, %s/s; %s", units_flops((double)per_step).text,
             units_flops(mfu->flops_per_s).text, more);
    sheet_fold(sheet, !mfu->is_known);
    sheet_say(sheet, SAY_PARAGRAPH, text);
    sheet_fold(sheet, false);
}

void work_answer_put_flops(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct mfu mfu = torch_flops_mfu(torch, report->peak_flops);
    put_flops(sheet, &torch->flops, &mfu);
    put_mfu(sheet, &mfu);
    say_flops(sheet, report, &mfu);
}

// --- memory -------------------------------------------------------------------------

static struct value some_bytes(uint64_t bytes)
{
    return value_if(bytes, value_uint(bytes));
}

#define OWNER_COLUMNS                                                                              \
    {.key = "name"}, {.key = "allocations"}, {.key = "self_bytes"}, {.key = "peak_bytes"},         \
        {.key = "kept_blocks"},                                                                    \
    {                                                                                              \
        .key = "kept_bytes"                                                                        \
    }
static const struct column owner_columns[] = {OWNER_COLUMNS};
static const struct column op_columns[] = {OWNER_COLUMNS, {.key = "total_bytes"}};

static void put_owners(struct sheet *sheet, const struct table *table,
                       const struct blocks_owners *owners)
{
    sheet_table(sheet, table);
    for (size_t i = 0; i < owners->count && i < MOST_MODULES; i++) {
        const struct blocks_owner *owner = &owners->rows[i];
        SHEET_ROW(sheet, value_text(owner->name), value_uint(owner->allocations),
                  value_int(owner->self_bytes), value_uint(owner->peak_bytes),
                  value_uint(owner->kept), value_uint(owner->kept_bytes),
                  value_int(owner->total_bytes));
    }
    sheet_end(sheet);
}

static void put_curve(struct sheet *sheet, const struct op_allocations *blocks)
{
    static const struct series series = {.key = "curve",
                                         .heading = "Memory allocated by ops, in one window",
                                         .x_unit = UNIT_NS,
                                         .x_noun = "",
                                         .y_unit = UNIT_BYTES};
    static const struct series data = {.key = "curve"};
    struct point points[BLOCKS_MOST_POINTS];
    size_t count = 0;
    for (; count < blocks->curve_count && count < BLOCKS_MOST_POINTS; count++)
        points[count] = (struct point){blocks->curve[count].at_ns, blocks->curve[count].bytes};
    sheet_series(sheet, count > 1 ? &series : &data, points, count);
}

static void put_window(struct sheet *sheet, const struct torch_report *torch)
{
    const struct op_allocations *blocks = &torch->blocks;
    static const struct table phases = {.key = "by_phase", .columns = owner_columns, .count = 6};
    static const struct table modules = {.key = "by_module", .columns = owner_columns, .count = 6};
    static const struct table ops = {.key = "by_op", .columns = op_columns, .count = 7};
    if (!blocks->allocations) {
        sheet_put(sheet, "window", value_none());
        return;
    }
    sheet_object(sheet, "window");
    sheet_put(sheet, "device", value_text(torch->memory.device));
    sheet_put(sheet, "allocations", value_uint(blocks->allocations));
    sheet_put(sheet, "allocated_bytes", value_uint(blocks->allocated_bytes));
    sheet_put(sheet, "releases", value_uint(blocks->releases));
    sheet_put(sheet, "older_releases", value_uint(blocks->older_releases));
    sheet_put(sheet, "peak_bytes", value_int(blocks->peak_bytes));
    sheet_put(sheet, "peak_ns", value_int(blocks->peak_ns));
    sheet_put(sheet, "before_bytes", value_int(blocks->before_bytes));
    sheet_put(sheet, "kept_blocks", value_uint(blocks->kept));
    sheet_put(sheet, "kept_bytes", value_uint(blocks->kept_bytes));
    put_curve(sheet, blocks);
    put_owners(sheet, &phases, &blocks->phases);
    put_owners(sheet, &modules, &blocks->modules);
    put_owners(sheet, &ops, &blocks->ops);
    sheet_end(sheet);
}

// "layer1 12 MB, layer2 8 MB", of what was held at the peak.
static void name_owners(const struct blocks_owners *owners, char *out, size_t room)
{
    size_t named = 0;
    *out = '\0';
    for (size_t i = 0; i < owners->count && named < MOST_NAMED && owners->rows[i].peak_bytes; i++) {
        const struct blocks_owner *owner = &owners->rows[i];
        const char *name = *owner->name ? owner->name : "no module";
        const size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%.40s %s", named++ ? ", " : "", name,
                 units_bytes(owner->peak_bytes).text);
    }
}

bool work_answer_has_memory(const struct torch_report *torch)
{
    return torch->blocks.allocations && torch->blocks.peak_bytes > 0;
}

static void say_memory(struct sheet *sheet, const struct torch_report *torch)
{
    const struct op_allocations *blocks = &torch->blocks;
    int64_t older = blocks->peak_bytes;
    char text[700], names[240];
    sheet_section(sheet, "Memory allocated by ops", "");
    name_owners(&blocks->phases, names, sizeof names);
    snprintf(text, sizeof text, "at most %s at a time on %s: %s",
             units_bytes((uint64_t)blocks->peak_bytes).text, torch->memory.device, names);
    for (size_t i = 0; i < blocks->phases.count; i++)
        older -= (int64_t)blocks->phases.rows[i].peak_bytes;
    if (older > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", from before the window %s",
                 units_bytes((uint64_t)older).text);
    name_owners(&blocks->modules, names, sizeof names);
    const size_t used = strlen(text);
    if (blocks->modules.count > 1)
        snprintf(text + used, sizeof text - used, "; by module: %s", names);
    sheet_say(sheet, SAY_PARAGRAPH, text);
}

void work_answer_put_memory(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    if (work_answer_has_memory(torch))
        say_memory(sheet, torch);
    sheet_object(sheet, "memory");
    sheet_put(sheet, "rss_peak_bytes", some_bytes(torch->memory.rss_bytes));
    put_window(sheet, torch);
    sheet_end(sheet);
}
