// SPDX-License-Identifier: Apache-2.0
// What a trace is made of, as JSON: shards, damage. The names of its keys are
// kept.
#ifndef GAIT_RENDER_TRACE_JSON_H
#define GAIT_RENDER_TRACE_JSON_H

#include <stdint.h>
#include <stdio.h>

#include <gait/trace.h>

struct json_writer;

GAIT_CHECK int trace_json_put(FILE *out, const struct gait_trace *trace);

// Parts that other answers hold too.
void trace_json_damage(struct json_writer *json, const struct gait_trace *trace);
void trace_json_rank(struct json_writer *json, int64_t rank); // null if not known

#endif
