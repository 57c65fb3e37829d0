// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/recorded_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/steps/each_step.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "load/shard_owner.h"
#include "vocabulary/metadata.h"

enum { MOST_STEPS = 1 << 26, EDGE_NS = 100000 };
#define MOST_NAMES ((size_t)1 << 30)

struct finding {
    struct recorded_steps *steps;
    const struct gait_trace *trace;
    int status;
};

static int64_t earlier(int64_t at_ns)
{
    return at_ns < INT64_MIN + EDGE_NS ? INT64_MIN : at_ns - EDGE_NS;
}

// Whether devices were on record for all of the step. The window's edges were read off another
// clock than the step's, some microseconds before or behind them.
static bool has_devices(const struct gait_trace *trace, uint32_t shard,
                        const struct device_step *step)
{
    const struct run *run = &trace->run;
    for (uint32_t i = shard_owned_first(run, shard); i != RUN_NO_SHARD;
         i = shard_owned_next(run, i)) {
        const char *until = gait_trace_metadata(trace, i, meta.devices_until_ns);
        const int64_t since_ns = run->shards[i]->info.start_ns,
                      until_ns = json_integer(until, INT64_MIN);
        if (step->start_ns >= earlier(since_ns) && until_ns > INT64_MIN &&
            earlier(step->end_ns) <= until_ns)
            return true;
    }
    return false;
}

static void take_step(const struct gait_event *step, uint32_t shard, void *context)
{
    const struct array_shape shape = {sizeof(struct recorded_step), MOST_STEPS};
    struct finding *finding = context;
    struct recorded_steps *steps = finding->steps;
    struct recorded_step row = {.shard = shard, .step = {.start_ns = step->start_ns}};
    char name[32];
    if (finding->status || step->duration_ns < 0 ||
        __builtin_add_overflow(step->start_ns, step->duration_ns, &row.step.end_ns) ||
        !has_devices(finding->trace, shard, &row.step))
        return;
    const int bytes = snprintf(name, sizeof name, "step %" PRIu64, step->id);
    row.step.name = arena_text(&steps->names, name, (size_t)bytes);
    finding->status = row.step.name ? array_reserve((void **)&steps->rows, &steps->capacity,
                                                    steps->count + 1, shape)
                                    : fail(GAIT_ERR_MEMORY, "no memory for the names of steps");
    if (!finding->status)
        steps->rows[steps->count++] = row;
}

int recorded_steps_find(struct recorded_steps *steps, struct gait_trace *trace)
{
    struct finding finding = {steps, trace, GAIT_OK};
    bool is_any = false;
    *steps = (struct recorded_steps){.count = 0};
    arena_init(&steps->names, MOST_NAMES);
    for (uint32_t i = 0; i < trace->run.shard_count; i++)
        is_any = is_any || shard_owner(trace, i) != i;
    const int status = is_any ? each_step(trace, take_step, &finding) : GAIT_OK;
    return status ? status : finding.status;
}

void recorded_steps_finish(struct recorded_steps *steps)
{
    free(steps->rows);
    arena_finish(&steps->names);
    *steps = (struct recorded_steps){.count = 0};
}
