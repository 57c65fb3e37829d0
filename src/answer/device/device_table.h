// SPDX-License-Identifier: Apache-2.0
// What devices did as a row of a table: a window and the five exclusive parts of it.
#ifndef GAIT_ANSWER_DEVICE_TABLE_H
#define GAIT_ANSWER_DEVICE_TABLE_H

#include "analyse/device/device_run.h"
#include "answer/sheet.h"

enum { DEVICE_PARTS = 6 };

// The columns behind the window's own, for people.
#define DEVICE_PART_COLUMNS                                                                        \
    {.label = "compute", .unit = UNIT_NS, .width = 9},                                             \
        {.label = "overlap", .unit = UNIT_NS, .width = 9},                                         \
        {.label = "exposed comm", .unit = UNIT_NS, .width = 13},                                   \
        {.label = "copies", .unit = UNIT_NS, .width = 8},                                          \
    {                                                                                              \
        .label = "idle", .unit = UNIT_NS, .width = 9                                               \
    }

void device_parts_find(const struct breakdown *breakdown, bool is_known,
                       struct value ret_parts[DEVICE_PARTS]);

// A trace that names no rank is of rank 0.
int64_t device_rank_number(const struct gait_trace *trace, uint32_t shard);

// The ledger of the devices, below that of the host: table `devices`, and what they mostly
// waited for. Nothing where no device is on record.
void device_ledger_put(struct sheet *sheet, const struct gait_trace *trace,
                       const struct device_run *run);

#endif
