// SPDX-License-Identifier: Apache-2.0
// What stands around the events of a torch.profiler trace: the head, the names of
// the process and its threads, the tail.
#ifndef GAIT_EXPORT_PT_HEAD_H
#define GAIT_EXPORT_PT_HEAD_H

#include <stdint.h>

#include <gait/error.h>

struct pt_writer;

GAIT_CHECK int pt_head_begin(struct pt_writer *writer);

// Says a thread's name before its first event.
GAIT_CHECK int pt_head_name_track(struct pt_writer *writer, uint32_t track);

GAIT_CHECK int pt_head_end(struct pt_writer *writer);

#endif
