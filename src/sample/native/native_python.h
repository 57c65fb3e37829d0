// SPDX-License-Identifier: Apache-2.0
// The Python frames of a thread that does not run at the moment, and what they
// left on its C stack.
#ifndef GAIT_SAMPLE_NATIVE_PYTHON_H
#define GAIT_SAMPLE_NATIVE_PYTHON_H

#include "sample/look/snapshot_read.h"
#include "sample/native/native_merge.h"

// One look at the thread; true if all frames could be read. Up to 3.10 the anchors
// are not known by this. `points->points` has room for PYTHON_THREAD_DEPTH.
bool native_python_walk(struct snapshot_read *gather, struct python_thread *thread,
                        const struct native_stack *natives, struct native_points *points);

#endif
