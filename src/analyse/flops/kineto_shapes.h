// SPDX-License-Identifier: Apache-2.0
// What a trace of torch.profiler says of an op's arguments, as the text that gait writes
// itself (docs/TORCH.md, "Ops").
#ifndef GAIT_ANALYSE_KINETO_SHAPES_H
#define GAIT_ANALYSE_KINETO_SHAPES_H

#include <stdbool.h>

#include <gait/trace.h>

#include "base/buffer.h"

// Replaces what is in `out`. *ret_is_told false: the trace says nothing of them.
GAIT_CHECK int kineto_shapes(const struct gait_arg *args, size_t count, struct buffer *out,
                             bool *ret_is_told);

#endif
