// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/each_step.h"

#include <stdlib.h>

#include <gait/derived.h>

#include "analyse/steps/trace_facts.h"
#include "base/fail.h"
#include "load/order/event_feed.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

struct showing {
    struct gait_trace *trace;
    each_step_visit *visit;
    void *context;
    uint8_t *kinds; // of each shard: 1 + that of its first step; others are none
};

static int show(void *context, const struct gait_event *step)
{
    const struct showing *showing = context;
    struct gait_track_info track;
    const int status = gait_trace_track(showing->trace, step->track, &track);
    if (status)
        return status;
    uint8_t *kind = &showing->kinds[track.shard];
    if (!*kind)
        *kind = (uint8_t)(1 + step->kind);
    return *kind == 1 + step->kind ? showing->visit(showing->context, step, track.shard) : GAIT_OK;
}

// The spans of imported traces that a profiler numbered.
static int show_numbered(void *context, const struct gait_event *span)
{
    const struct showing *showing = context;
    struct gait_event step = *span;
    struct gait_track_info track;
    if (site_role(showing->trace, span->site) != ROLE_STEP ||
        gait_trace_track(showing->trace, span->track, &track) ||
        !gait_trace_metadata(showing->trace, track.shard, meta.import))
        return GAIT_OK;
    step.id = trace_hint_step(span->name);
    return show(context, &step);
}

static int each_numbered(struct showing *showing)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    return site_role_any(showing->trace, ROLE_BIT(ROLE_STEP))
               ? each_event(showing->trace, &query, show_numbered, showing)
               : GAIT_OK;
}

static const struct gait_query steps = {.size = sizeof steps, .kinds = 1u << GAIT_KIND_STEP};

static int each_derived(struct showing *showing)
{
    struct gait_derived *derived;
    struct gait_event step;
    int is_more, status = gait_derived_open(showing->trace, &steps, &derived);
    if (status)
        return status;
    while (!status && (is_more = gait_derived_next(derived, &step)))
        status = is_more == 1 ? show(showing, &step) : is_more;
    gait_derived_close(derived);
    return status;
}

int each_step(struct gait_trace *trace, bool prefers_numbered, each_step_visit *visit,
              void *context)
{
    struct showing showing = {.trace = trace, .visit = visit, .context = context};
    showing.kinds = calloc((size_t)gait_trace_shard_count(trace) + 1, sizeof *showing.kinds);
    int status =
        showing.kinds ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the steps of a run");
    if (!status && prefers_numbered)
        status = each_numbered(&showing);
    if (!status)
        status = each_event(trace, &steps, show, &showing);
    if (!status)
        status = each_derived(&showing);
    if (!status && !prefers_numbered)
        status = each_numbered(&showing);
    free(showing.kinds);
    return status;
}
