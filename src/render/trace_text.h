// SPDX-License-Identifier: Apache-2.0
// What a trace is made of, as text: a line a shard, then what is damaged.
#ifndef GAIT_RENDER_TRACE_TEXT_H
#define GAIT_RENDER_TRACE_TEXT_H

#include <stdio.h>

#include <gait/trace.h>

GAIT_CHECK int trace_text_put(FILE *out, const char *path, const struct gait_trace *trace);

#endif
