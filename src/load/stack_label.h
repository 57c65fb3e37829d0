// SPDX-License-Identifier: Apache-2.0
// Processes and threads as texts at the root of a stack. That is what folded text has, and
// recordings from before such a frame had a category. Nobody else takes labels apart.
#ifndef GAIT_LOAD_STACK_LABEL_H
#define GAIT_LOAD_STACK_LABEL_H

#include <stdint.h>

#include "base/slice.h"
#include "vocabulary/samples.h"

// FRAME_PROCESS, FRAME_THREAD, or FRAME_NONE for anything else.
enum frame_kind stack_label_kind(struct slice text);

// The process of such a label; -1 where it is none.
int64_t stack_label_pid(const char *text);

#endif
