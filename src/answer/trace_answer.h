// SPDX-License-Identifier: Apache-2.0
// What `gait info` answers: what a trace is made of, without asking what it means.
#ifndef GAIT_ANSWER_TRACE_ANSWER_H
#define GAIT_ANSWER_TRACE_ANSWER_H

#include <gait/error.h>
#include <gait/trace.h>

struct sheet;

// `path` is the trace as the user typed it.
GAIT_CHECK int trace_answer_make(const struct gait_trace *trace, const char *path,
                                 struct sheet **ret_sheet);

#endif
