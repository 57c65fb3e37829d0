// SPDX-License-Identifier: Apache-2.0
// Formulas are told with their figures: others mean other things by the names.
#include "render/torch_work.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/json_writer.h"
#include "render/plain.h"
#include "render/screen.h"
#include "render/units.h"

enum { MOST_OPS = 100, MOST_MODULES = 1000, MOST_NAMED = 3 };

static const char flops_formula[] =
    "products of matrices 2*M*N*K, convolutions 2*N*points*kernel*channels_in*channels_out/groups "
    "(one more for each gradient), attention by its products; all else 0; the middle step of "
    "those on record";
static const char mfu_formula[] =
    "FLOPs of the middle recorded step / (length of the median step * peak of the device)";

// The steps on record are slowed down by that: the median of all is not.
static double step_ns_of(const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    return (double)(torch->steady.count ? torch->steady.p50_ns : report->steps.p50_ns);
}

static void put_positive(struct json_writer *json, const char *key, double value)
{
    json_key(json, key);
    if (value > 0)
        json_real(json, value);
    else
        json_null(json);
}

// --- FLOPs --------------------------------------------------------------------------

static void put_flops_by_op(struct json_writer *json, const struct torch_flops *flops)
{
    json_key(json, "by_op");
    json_array(json);
    for (size_t i = 0; i < flops->op_count && i < MOST_OPS; i++) {
        const struct flops_op *op = &flops->ops[i];
        json_object(json);
        json_put_text(json, "name", op->name);
        json_put_uint(json, "calls", op->calls);
        json_put_uint(json, "flops", op->flops);
        json_put_uint(json, "total_ns", op->total_ns);
        json_close(json);
    }
    json_close(json);
}

static void put_flops_by_module(struct json_writer *json, const struct torch_flops *flops)
{
    json_key(json, "by_module");
    json_array(json);
    for (size_t i = 0; i < flops->module_count && i < MOST_MODULES; i++) {
        const struct flops_module *module = &flops->modules[i];
        json_object(json);
        json_put_text(json, "name", module->name);
        json_put_uint(json, "flops", module->flops);
        json_put_uint(json, "self_flops", module->self_flops);
        json_key(json, "share");
        json_real(json, (double)module->flops / (double)flops->total);
        json_close(json);
    }
    json_close(json);
}

static void put_flops(struct json_writer *json, const struct torch_report *torch,
                      const struct mfu *mfu)
{
    const struct torch_flops *flops = &torch->flops;
    json_key(json, "flops");
    if (!flops->total) {
        json_null(json);
        return;
    }
    json_object(json);
    json_put_uint(json, "steps", flops->counted_steps);
    json_put_uint(json, "total", flops->total);
    json_put_uint(json, "per_step", flops->per_step);
    put_positive(json, "per_second", mfu->flops_per_s);
    json_put_text(json, "formula", flops_formula);
    json_key(json, "as_flop_counter_mode");
    json_object(json);
    json_put_uint(json, "total", flops->counted);
    json_put_uint(json, "per_step", flops->counted_per_step);
    json_close(json);
    put_flops_by_op(json, flops);
    put_flops_by_module(json, flops);
    json_close(json);
}

static void put_mfu(struct json_writer *json, const struct mfu *mfu)
{
    json_key(json, "mfu");
    json_object(json);
    put_positive(json, "value", mfu->is_known ? mfu->value : 0);
    put_positive(json, "flops_per_s", mfu->flops_per_s);
    put_positive(json, "peak_flops_per_s", mfu->peak);
    json_put_text(json, "device", mfu->device);
    json_put_text(json, "formula", mfu_formula);
    json_put_text(json, "why", mfu->why);
    json_close(json);
}

// --- memory -------------------------------------------------------------------------

static void put_bytes(struct json_writer *json, const char *key, uint64_t bytes)
{
    json_key(json, key);
    if (bytes)
        json_uint(json, bytes);
    else
        json_null(json);
}

static void put_owners(struct json_writer *json, const char *key,
                       const struct blocks_owners *owners, bool are_ops)
{
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < owners->count && i < MOST_MODULES; i++) {
        const struct blocks_owner *owner = &owners->rows[i];
        json_object(json);
        json_put_text(json, "name", owner->name);
        json_put_uint(json, "allocations", owner->allocations);
        json_put_int(json, "self_bytes", owner->self_bytes);
        if (are_ops)
            json_put_int(json, "total_bytes", owner->total_bytes);
        json_put_uint(json, "peak_bytes", owner->peak_bytes);
        json_put_uint(json, "kept_blocks", owner->kept);
        json_put_uint(json, "kept_bytes", owner->kept_bytes);
        json_close(json);
    }
    json_close(json);
}

static void put_curve(struct json_writer *json, const struct torch_blocks *blocks)
{
    json_key(json, "curve");
    json_array(json);
    for (size_t i = 0; i < blocks->curve_count; i++) {
        json_array(json);
        json_int(json, blocks->curve[i].at_ns);
        json_int(json, blocks->curve[i].bytes);
        json_close(json);
    }
    json_close(json);
}

static void put_window(struct json_writer *json, const struct torch_blocks *blocks)
{
    json_key(json, "window");
    if (!blocks->allocations) {
        json_null(json);
        return;
    }
    json_object(json);
    json_put_uint(json, "allocations", blocks->allocations);
    json_put_uint(json, "allocated_bytes", blocks->allocated_bytes);
    json_put_uint(json, "releases", blocks->releases);
    json_put_uint(json, "older_releases", blocks->older_releases);
    json_put_int(json, "peak_bytes", blocks->peak_bytes);
    json_put_int(json, "peak_ns", blocks->peak_ns);
    json_put_uint(json, "kept_blocks", blocks->kept);
    json_put_uint(json, "kept_bytes", blocks->kept_bytes);
    put_curve(json, blocks);
    put_owners(json, "by_phase", &blocks->phases, false);
    put_owners(json, "by_module", &blocks->modules, false);
    put_owners(json, "by_op", &blocks->ops, true);
    json_close(json);
}

static void put_memory(struct json_writer *json, const struct torch_report *torch)
{
    json_key(json, "memory");
    json_object(json);
    put_bytes(json, "rss_peak_bytes", torch->memory.rss_bytes);
    put_bytes(json, "window_peak_bytes", torch->memory.window_bytes);
    put_window(json, &torch->blocks);
    json_close(json);
}

void torch_work_json(struct json_writer *json, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct mfu mfu = torch_flops_mfu(torch, step_ns_of(report), report->peak_flops);
    put_flops(json, torch, &mfu);
    put_mfu(json, &mfu);
    put_memory(json, torch);
}

// --- for people ---------------------------------------------------------------------

void torch_work_put_flops(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct torch_report *torch = report->torch;
    const struct mfu mfu = torch_flops_mfu(torch, step_ns_of(report), report->peak_flops);
    char text[400], more[240];
    if (!torch->flops.per_step || mfu.flops_per_s <= 0)
        return;
    if (mfu.is_known)
        snprintf(more, sizeof more, "MFU %.3g %% of %s/s%s%.80s", mfu.value * 100,
                 units_flops(mfu.peak).text, report->peak_flops > 0 || !mfu.device ? "" : ", ",
                 report->peak_flops > 0 || !mfu.device ? "" : mfu.device);
    else
        snprintf(more, sizeof more, "no MFU: %s", mfu.why);
    snprintf(text, sizeof text, "%s a step, %s/s; %s",
             units_flops((double)torch->flops.per_step).text, units_flops(mfu.flops_per_s).text,
             more);
    fputs("  ", screen->out);
    plain_wrap(screen->out, text, 2, 2);
}

// "layer1 12 MB, layer2 8 MB", of what was held at the peak.
static void name_owners(const struct blocks_owners *owners, char *out, size_t room)
{
    size_t told = 0;
    *out = '\0';
    for (size_t i = 0; i < owners->count && told < MOST_NAMED && owners->rows[i].peak_bytes; i++) {
        const struct blocks_owner *owner = &owners->rows[i];
        const char *name = *owner->name ? owner->name : "no module";
        snprintf(out + strlen(out), room - strlen(out), "%s%.40s %s", told++ ? ", " : "", name,
                 units_bytes(owner->peak_bytes).text);
    }
}

bool torch_work_has_memory(const struct torch_report *torch)
{
    return torch->blocks.allocations && torch->blocks.peak_bytes > 0;
}

void torch_work_put_memory(const struct screen *screen)
{
    const struct torch_blocks *blocks = &screen->report->torch->blocks;
    char text[700], names[240];
    if (!torch_work_has_memory(screen->report->torch))
        return;
    fputc('\n', screen->out);
    screen_bold(screen, "Memory that ops hold");
    fputc('\n', screen->out);
    name_owners(&blocks->phases, names, sizeof names);
    snprintf(text, sizeof text, "at most %s at a time: %s",
             units_bytes((uint64_t)blocks->peak_bytes).text, names);
    name_owners(&blocks->modules, names, sizeof names);
    if (blocks->modules.count > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; by module: %s", names);
    fputs("  ", screen->out);
    plain_wrap(screen->out, text, 2, 2);
}
