// SPDX-License-Identifier: Apache-2.0
// Work of devices and the calls that launched it, as Kineto writes them: on the device's
// streams, with the number of the op around the launch and an arrow from call to work.
#ifndef GAIT_EXPORT_PT_DEVICES_H
#define GAIT_EXPORT_PT_DEVICES_H

#include "export/number_map.h"
#include "export/pt/pt_writer.h"
#include "load/order/open_calls.h"

struct pt_devices {
    struct open_calls *open; // ops of each track; their numbers are External ids
    uint32_t track_count;
    struct number_map launches; // of each link: number of the op + 1
};

GAIT_CHECK int pt_devices_init(struct pt_devices *devices, uint32_t track_count);
void pt_devices_finish(struct pt_devices *devices); // takes a zeroed struct

// An op of that number begins.
GAIT_CHECK int pt_devices_op(struct pt_devices *devices, const struct gait_event *op,
                             uint64_t number);

GAIT_CHECK int pt_devices_span(struct pt_devices *devices, struct pt_writer *writer,
                               const struct gait_event *event);

#endif
