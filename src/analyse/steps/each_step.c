// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/each_step.h"

#include <gait/derived.h>

#include "analyse/steps/trace_facts.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

static void show(const struct gait_trace *trace, const struct gait_event *step,
                 each_step_visit *visit, void *context)
{
    struct gait_track_info track;
    if (!gait_trace_track(trace, step->track, &track))
        visit(step, track.shard, context);
}

// The spans of imported traces that a profiler numbered.
static int show_numbered(struct gait_trace *trace, each_step_visit *visit, void *context)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    struct gait_cursor *spans;
    struct gait_event span;
    struct gait_track_info track;
    int status = gait_cursor_open(trace, &query, &spans);
    if (status)
        return status;
    while ((status = gait_cursor_next(spans, &span)) == 1) {
        if (site_role(trace, span.site) != ROLE_STEP ||
            gait_trace_track(trace, span.track, &track) ||
            !gait_trace_metadata(trace, track.shard, meta.import))
            continue;
        span.id = trace_hint_step(span.name);
        visit(&span, track.shard, context);
    }
    gait_cursor_close(spans);
    return status;
}

int each_marked_step(struct gait_trace *trace, each_step_visit *visit, void *context)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_STEP};
    struct gait_cursor *marked;
    struct gait_event step;
    int status = gait_cursor_open(trace, &query, &marked);
    if (status)
        return status;
    while ((status = gait_cursor_next(marked, &step)) == 1)
        show(trace, &step, visit, context);
    gait_cursor_close(marked);
    return status;
}

static int show_derived(struct gait_trace *trace, each_step_visit *visit, void *context)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_STEP};
    struct gait_derived *derived;
    struct gait_event step;
    int status = gait_derived_open(trace, &query, &derived);
    if (status)
        return status;
    while ((status = gait_derived_next(derived, &step)) == 1)
        show(trace, &step, visit, context);
    gait_derived_close(derived);
    return status;
}

int each_step(struct gait_trace *trace, each_step_visit *visit, void *context)
{
    int status = each_marked_step(trace, visit, context);
    if (!status)
        status = show_derived(trace, visit, context);
    return status || !site_role_any(trace, ROLE_BIT(ROLE_STEP))
               ? status
               : show_numbered(trace, visit, context);
}
