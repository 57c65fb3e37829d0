// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/each_step.h"

#include <gait/derived.h>

static void show(const struct gait_trace *trace, const struct gait_event *step,
                 each_step_visit *visit, void *context)
{
    struct gait_track_info track;
    if (!gait_trace_track(trace, step->track, &track))
        visit(step, track.shard, context);
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
    return status;
}
