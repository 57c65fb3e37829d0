// SPDX-License-Identifier: Apache-2.0
#include "export/row_shape.h"

#include "base/buffer.h"
#include "export/chrome/args_json.h"

const struct row_shape row_shapes[GAIT_KIND_COUNT] = {
    [GAIT_KIND_SPAN] = {"span", .has_site = true, .has_duration = true},
    [GAIT_KIND_MARK] = {"mark", .has_site = true},
    [GAIT_KIND_COUNTER] = {"counter", .has_site = true, .has_value = true},
    [GAIT_KIND_ASYNC] = {"async", .has_site = true, .has_duration = true, .has_id = true},
    [GAIT_KIND_FLOW] = {"flow", .has_site = true, .has_id = true},
    [GAIT_KIND_STEP] = {"step", .has_duration = true, .has_id = true},
    [GAIT_KIND_DROP] = {"drop", .has_duration = true, .has_id = true},
    [GAIT_KIND_SAMPLE] = {"sample", .has_site = true, .has_value = true},
    [GAIT_KIND_MEMORY] = {"memory", .has_site = true, .has_id = true, .has_value = true},
    [GAIT_KIND_LOG] = {"log", .has_value = true},
};

static const char *const flow_phases[] = {"begin", "step", "end"};

int row_shape_args(const struct gait_event *event, struct buffer *out)
{
    out->used = 0;
    if (!event->arg_count && event->kind != GAIT_KIND_FLOW)
        return GAIT_OK;
    int status = buffer_append(out, "{", 1);
    if (!status && event->kind == GAIT_KIND_FLOW && (unsigned)event->phase < 3)
        status = buffer_printf(out, "\"phase\":\"%s\"%s", flow_phases[event->phase],
                               event->arg_count ? "," : "");
    if (!status)
        status = args_json_append(out, event->args, event->arg_count);
    return status ? status : buffer_append(out, "}", 1);
}
