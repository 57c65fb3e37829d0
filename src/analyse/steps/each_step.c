// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/each_step.h"

#include <stdbool.h>
#include <stdlib.h>

#include <gait/derived.h>

#include "analyse/steps/trace_facts.h"
#include "base/fail.h"
#include "vocabulary/metadata.h"

static void show(const struct gait_trace *trace, const struct gait_event *step,
                 each_step_visit *visit, void *context)
{
    struct gait_track_info track;
    if (!gait_trace_track(trace, step->track, &track))
        visit(step, track.shard, context);
}

static int find_numbered(const struct gait_trace *trace, bool *is_numbered, bool *ret_any)
{
    *ret_any = false;
    for (uint32_t i = 0; i < gait_trace_site_count(trace); i++) {
        struct gait_site_info site;
        int status = gait_trace_site(trace, i, &site);
        if (status)
            return status;
        is_numbered[i] = role_of(site.category, site.name) == ROLE_STEP;
        *ret_any |= is_numbered[i];
    }
    return GAIT_OK;
}

static int show_spans(struct gait_trace *trace, const bool *is_numbered, each_step_visit *visit,
                      void *context)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    struct gait_cursor *spans;
    struct gait_event span;
    struct gait_track_info track;
    int status = gait_cursor_open(trace, &query, &spans);
    if (status)
        return status;
    while ((status = gait_cursor_next(spans, &span)) == 1) {
        if (span.site >= gait_trace_site_count(trace) || !is_numbered[span.site] ||
            gait_trace_track(trace, span.track, &track) ||
            !gait_trace_metadata(trace, track.shard, meta.import))
            continue;
        span.id = trace_hint_step(span.name);
        visit(&span, track.shard, context);
    }
    gait_cursor_close(spans);
    return status;
}

// The spans of imported traces that a profiler numbered. Other traces are not read for them.
static int show_numbered(struct gait_trace *trace, each_step_visit *visit, void *context)
{
    bool *is_numbered = calloc(gait_trace_site_count(trace) + 1, sizeof *is_numbered);
    bool is_any;
    if (!is_numbered)
        return fail(GAIT_ERR_MEMORY, "no memory for the steps of a profiler");
    int status = find_numbered(trace, is_numbered, &is_any);
    if (!status && is_any)
        status = show_spans(trace, is_numbered, visit, context);
    free(is_numbered);
    return status;
}

int each_step(struct gait_trace *trace, each_step_visit *visit, void *context)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_STEP};
    struct gait_cursor *marked;
    struct gait_derived *derived;
    struct gait_event step;
    int status = gait_cursor_open(trace, &query, &marked);
    if (status)
        return status;
    while ((status = gait_cursor_next(marked, &step)) == 1)
        show(trace, &step, visit, context);
    gait_cursor_close(marked);
    if (!status)
        status = gait_derived_open(trace, &query, &derived);
    if (status)
        return status;
    while ((status = gait_derived_next(derived, &step)) == 1)
        show(trace, &step, visit, context);
    gait_derived_close(derived);
    return status ? status : show_numbered(trace, visit, context);
}
