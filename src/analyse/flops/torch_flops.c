// SPDX-License-Identifier: Apache-2.0
// An op with a formula stands for what it calls: nothing inside it is counted
// again, and a module has what is counted in it once, whatever it is nested in.
#include "analyse/flops/torch_flops.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/flops/flops.h"
#include "analyse/ops/op_walk.h"
#include "analyse/ops/tuple_map.h"
#include "analyse/report/torch_report.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/intern.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

enum { NO_KIND = PEAK_KINDS };

struct known_call {
    uint64_t work, counted;
    unsigned kind; // enum peak_kind, or NO_KIND
};

struct site_sums {
    uint64_t calls, flops, ns;
};

struct step_sums {
    uint64_t work, counted;
};

struct flops_taking {
    struct torch_flops *flops;
    const struct gait_trace *trace;
    struct arena *arena;
    const struct torch_phases *phases;
    enum flops_way counter; // that of the torch that was recorded
    struct intern texts;
    struct tuple_map keys; // site and text of its arguments
    struct known_call *calls;
    size_t call_room;
    int64_t *work_until_ns, *counted_until_ns; // of a track: inside one that counts
    struct site_sums *ops;                     // of a site
    uint64_t *modules;                         // of a site, and behind them of none
    uint32_t *parents;
    struct step_sums *steps;
};

// --- one op -------------------------------------------------------------------------

// What the first tensor is made of.
static unsigned kind_of(const char *shapes)
{
    static const struct {
        const char *dtype;
        unsigned kind;
    } kinds[] = {{"f16[", PEAK_16_BIT},
                 {"bf16[", PEAK_16_BIT},
                 {"f32[", PEAK_FP32},
                 {"f8e4[", PEAK_FP8},
                 {"f8e5[", PEAK_FP8}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strncmp(shapes, kinds[i].dtype, strlen(kinds[i].dtype)) == 0)
            return kinds[i].kind;
    }
    return NO_KIND;
}

static const struct gait_arg *shapes_of(const struct gait_event *event)
{
    for (size_t i = 0; i < event->arg_count; i++) {
        if (strcmp(event->args[i].key, "shapes") == 0 && event->args[i].kind == GAIT_ARG_TEXT)
            return &event->args[i];
    }
    return NULL;
}

static int learn(struct flops_taking *taking, const struct gait_event *event,
                 const struct known_call **ret_call)
{
    static const struct known_call nothing = {0, 0, NO_KIND};
    const struct gait_arg *shapes = shapes_of(event);
    const size_t known = taking->keys.count;
    uint32_t index = 0;
    *ret_call = &nothing;
    if (!shapes)
        return GAIT_OK;
    const char *text = intern_text(
        &taking->texts, (struct slice){(const uint8_t *)shapes->text, shapes->text_bytes});
    const uint64_t key[2] = {event->site, (uintptr_t)text};
    int status = text ? tuple_map_add(&taking->keys, key, &index) : GAIT_ERR_MEMORY;
    if (!status)
        status = ARRAY_RESERVE(taking->calls, taking->call_room, taking->keys.count, UINT32_MAX);
    if (status)
        return status;
    if (taking->keys.count > known)
        taking->calls[index] =
            (struct known_call){flops_of(event->name, text, FLOPS_WORK),
                                flops_of(event->name, text, taking->counter), kind_of(text)};
    *ret_call = &taking->calls[index];
    return GAIT_OK;
}

static size_t step_of(const struct intervals *steps, int64_t at_ns)
{
    const size_t at = intervals_from(steps, at_ns);
    return at < steps->count && steps->rows[at].start_ns <= at_ns ? at : steps->count;
}

static void count_work(struct flops_taking *taking, const struct torch_event *seen, size_t step,
                       const struct known_call *call)
{
    const struct gait_event *event = seen->event;
    struct torch_flops *flops = taking->flops;
    struct site_sums *op = &taking->ops[event->site];
    const uint32_t module = seen->place.module;
    op->calls++;
    op->flops += call->work;
    op->ns += event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;
    taking->modules[module == TORCH_NOWHERE ? taking->phases->site_count : module] += call->work;
    taking->steps[step].work += call->work;
    flops->total += call->work;
    if (call->kind != NO_KIND)
        flops->kinds[call->kind] += call->work;
}

static int see(const struct torch_event *seen, void *context)
{
    struct flops_taking *taking = context;
    const struct gait_event *event = seen->event;
    const struct known_call *call;
    if (event->kind == GAIT_KIND_MEMORY || !flops_has(event->name, FLOPS_WORK))
        return GAIT_OK;
    const size_t step = step_of(&taking->flops->steps, event->start_ns);
    if (step == taking->flops->steps.count)
        return GAIT_OK;
    int status = learn(taking, event, &call);
    if (status)
        return status;
    const int64_t end_ns =
        event->duration_ns < 0 ? event->start_ns : event->start_ns + event->duration_ns;
    if (call->work && event->start_ns >= taking->work_until_ns[event->track]) {
        count_work(taking, seen, step, call);
        taking->work_until_ns[event->track] = end_ns;
    }
    if (call->counted && event->start_ns >= taking->counted_until_ns[event->track]) {
        taking->flops->counted += call->counted;
        taking->steps[step].counted += call->counted;
        taking->counted_until_ns[event->track] = end_ns;
    }
    return GAIT_OK;
}

// --- all of them --------------------------------------------------------------------

static int by_flops(const void *left, const void *right)
{
    const struct flops_op *a = left, *b = right;
    RETURN_IF_APART(b->flops, a->flops);
    return strcmp(a->name, b->name);
}

static int by_module(const void *left, const void *right)
{
    const struct flops_module *a = left, *b = right;
    RETURN_IF_APART(b->flops, a->flops);
    const size_t a_bytes = strlen(a->name), b_bytes = strlen(b->name);
    RETURN_IF_APART(a_bytes, b_bytes);
    return strcmp(a->name, b->name);
}

static int put_ops(const struct flops_taking *taking, const struct gait_trace *trace)
{
    struct torch_flops *flops = taking->flops;
    const uint32_t sites = taking->phases->site_count;
    flops->ops = arena_take(taking->arena, ((size_t)sites + 1) * sizeof *flops->ops);
    if (!flops->ops)
        return fail(GAIT_ERR_MEMORY, "no memory for FLOPs by op");
    for (uint32_t i = 0; i < sites; i++) {
        const struct site_sums *sums = &taking->ops[i];
        struct gait_site_info site;
        if (!sums->calls)
            continue;
        int status = gait_trace_site(trace, i, &site);
        if (status)
            return status;
        flops->ops[flops->op_count++] =
            (struct flops_op){site.name, sums->calls, sums->flops, sums->ns};
    }
    qsort(flops->ops, flops->op_count, sizeof *flops->ops, by_flops);
    return GAIT_OK;
}

// Up to the root; a file may have a ring of parents, so no further than there
// are sites.
static void add_to_parents(const struct flops_taking *taking, uint32_t module, uint64_t *totals)
{
    uint32_t left = taking->phases->site_count;
    for (uint32_t i = module; i != TORCH_NOWHERE && left; i = taking->parents[i], left--)
        totals[i] += taking->modules[module];
}

static int put_modules(const struct flops_taking *taking, const struct gait_trace *trace)
{
    struct torch_flops *flops = taking->flops;
    const uint32_t sites = taking->phases->site_count;
    uint64_t *totals = calloc((size_t)sites + 1, sizeof *totals);
    flops->modules = arena_take(taking->arena, ((size_t)sites + 1) * sizeof *flops->modules);
    int status =
        totals && flops->modules ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for FLOPs by module");
    for (uint32_t i = 0; !status && i < sites; i++) {
        if (taking->modules[i])
            add_to_parents(taking, i, totals);
    }
    for (uint32_t i = 0; !status && i < sites; i++) {
        struct gait_site_info site;
        if (!totals[i])
            continue;
        status = gait_trace_site(trace, i, &site);
        flops->modules[flops->module_count++] =
            (struct flops_module){site.name, totals[i], taking->modules[i]};
    }
    free(totals);
    if (!status && flops->module_count && taking->modules[sites])
        flops->modules[flops->module_count++] =
            (struct flops_module){"", taking->modules[sites], taking->modules[sites]};
    if (!status)
        qsort(flops->modules, flops->module_count, sizeof *flops->modules, by_module);
    return status;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The middle one of the numbers that are not 0.
static uint64_t middle_of(uint64_t *numbers, size_t count, size_t *ret_left)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i])
            numbers[left++] = numbers[i];
    }
    *ret_left = left;
    qsort(numbers, left, sizeof *numbers, by_value);
    return left ? numbers[left / 2] : 0;
}

// A window may begin or end within a step: such a step has less, or nothing.
static int put_middle(const struct flops_taking *taking)
{
    struct torch_flops *flops = taking->flops;
    const size_t count = flops->steps.count;
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    size_t left;
    if (!numbers)
        return fail(GAIT_ERR_MEMORY, "no memory for the FLOPs of %zu steps", count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = taking->steps[i].counted;
    flops->counted_per_step = middle_of(numbers, count, &left);
    for (size_t i = 0; i < count; i++)
        numbers[i] = taking->steps[i].work;
    flops->per_step = middle_of(numbers, count, &flops->counted_steps);
    free(numbers);
    return GAIT_OK;
}

// How FlopCounterMode counts in the torch of a shard, whose metadata is
// {"version": "2.15.0+cpu"}.
static enum flops_way counter_of(const struct gait_trace *trace, uint32_t shard)
{
    const char *torch = gait_trace_metadata(trace, shard, meta.torch);
    struct json_token version;
    if (json_member(torch, "version", &version) != JSON_TEXT)
        return FLOPS_COUNTER;
    char *end;
    const unsigned long major = strtoul((const char *)version.text.bytes + 1, &end, 10);
    const unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 2 || (major == 2 && minor >= 15) ? FLOPS_COUNTER_2_15 : FLOPS_COUNTER;
}

static int take_memory(struct flops_taking *taking, size_t sites, size_t tracks)
{
    taking->work_until_ns = calloc(tracks, sizeof *taking->work_until_ns);
    taking->counted_until_ns = calloc(tracks, sizeof *taking->counted_until_ns);
    taking->ops = calloc(sites, sizeof *taking->ops);
    taking->modules = calloc(sites, sizeof *taking->modules);
    taking->parents = malloc(sites * sizeof *taking->parents);
    taking->steps = calloc(taking->flops->steps.count, sizeof *taking->steps);
    if (!taking->work_until_ns || !taking->counted_until_ns || !taking->ops || !taking->modules ||
        !taking->parents || !taking->steps)
        return fail(GAIT_ERR_MEMORY, "no memory to count FLOPs");
    memset(taking->parents, 0xff, sites * sizeof *taking->parents);
    return GAIT_OK;
}

int torch_flops_begin(struct flops_taking **ret_taking, struct op_walk *walk,
                      struct torch_report *torch, struct arena *arena)
{
    const struct intervals *steps = &torch->flops.steps;
    struct flops_taking *taking = calloc(1, sizeof *taking);
    if (!taking)
        return fail(GAIT_ERR_MEMORY, "no memory to count FLOPs");
    *taking = (struct flops_taking){.flops = &torch->flops,
                                    .trace = walk->trace,
                                    .arena = arena,
                                    .phases = &torch->phases,
                                    .counter = counter_of(walk->trace, walk->shard)};
    intern_init(&taking->texts, arena);
    tuple_map_init(&taking->keys, 2);
    const int status = take_memory(taking, (size_t)torch->phases.site_count + 1,
                                   (size_t)torch->survey.track_count + 1);
    if (status) {
        torch_flops_drop(taking);
        return status;
    }
    const struct op_walker walker = {see, taking, steps->rows[0].start_ns,
                                     steps->rows[steps->count - 1].end_ns};
    op_walk_add(walk, &walker);
    walk->module_parents = taking->parents;
    *ret_taking = taking;
    return GAIT_OK;
}

int torch_flops_end(struct flops_taking *taking)
{
    int status = put_ops(taking, taking->trace);
    if (!status)
        status = put_modules(taking, taking->trace);
    if (!status)
        status = put_middle(taking);
    torch_flops_drop(taking);
    return status;
}

void torch_flops_drop(struct flops_taking *taking)
{
    if (!taking)
        return;
    tuple_map_finish(&taking->keys);
    intern_finish(&taking->texts);
    free(taking->calls);
    free(taking->work_until_ns);
    free(taking->counted_until_ns);
    free(taking->ops);
    free(taking->modules);
    free(taking->parents);
    free(taking->steps);
    free(taking);
}

// --- the share of the peak ------------------------------------------------------------

// The time that the device needs at its peak, by what was computed in which way;
// below 0 where it has no figure for one of them.
static double least_seconds(const struct torch_flops *flops, const struct device_peaks *peaks)
{
    double seconds = 0;
    uint64_t known = 0;
    for (unsigned kind = 0; kind < PEAK_KINDS; kind++) {
        if (!flops->kinds[kind])
            continue;
        if (peaks->tflops[kind] <= 0)
            return -1;
        seconds += (double)flops->kinds[kind] / (peaks->tflops[kind] * 1e12);
        known += flops->kinds[kind];
    }
    return known == flops->total ? seconds : -1;
}

struct mfu torch_flops_mfu(const struct torch_report *torch, double given_peak)
{
    const struct torch_flops *flops = &torch->flops;
    const struct device_peaks *peaks = device_peaks_of(torch->device);
    struct mfu mfu = {.is_known = false, .device = torch->device};
    if (!flops->per_step || !(torch->throughput.steps_per_s > 0)) {
        mfu.why = NOTE_NO_OPS_WITH_SHAPES;
        return mfu;
    }
    mfu.flops_per_s = (double)flops->per_step * torch->throughput.steps_per_s;
    mfu.peak = given_peak;
    if (given_peak <= 0 && peaks) {
        const double seconds = least_seconds(flops, peaks);
        if (seconds > 0)
            mfu.peak = (double)flops->total / seconds;
        else
            mfu.why = NOTE_NO_PEAK_OF_NUMBERS;
    } else if (given_peak <= 0) {
        mfu.why = torch->device ? NOTE_NO_PEAK_OF_DEVICE : NOTE_NO_PEAK_OF_CPU;
    }
    mfu.is_known = mfu.peak > 0;
    if (mfu.is_known)
        mfu.value = mfu.flops_per_s / mfu.peak;
    return mfu;
}
