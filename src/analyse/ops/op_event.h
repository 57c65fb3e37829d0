// SPDX-License-Identifier: Apache-2.0
// An argument of an event, by its key.
#ifndef GAIT_ANALYSE_OP_EVENT_H
#define GAIT_ANALYSE_OP_EVENT_H

#include <string.h>

#include <gait/trace.h>

static inline const struct gait_arg *op_event_arg(const struct gait_event *event, const char *key)
{
    for (size_t i = 0; i < event->arg_count; i++) {
        if (strcmp(event->args[i].key, key) == 0)
            return &event->args[i];
    }
    return NULL;
}

static inline int64_t op_event_number(const struct gait_event *event, const char *key,
                                      int64_t otherwise)
{
    const struct gait_arg *arg = op_event_arg(event, key);
    return arg && arg->kind == GAIT_ARG_INT ? arg->integer : otherwise;
}

#endif
