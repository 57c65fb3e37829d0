// SPDX-License-Identifier: Apache-2.0
// Of a PyTorch run: FLOPs, what share of the device's peak they are, and who
// held memory.
#ifndef GAIT_RENDER_TORCH_WORK_H
#define GAIT_RENDER_TORCH_WORK_H

#include <stdbool.h>

struct json_writer;
struct run_report;
struct screen;
struct torch_report;

// The keys flops, mfu and memory.
void torch_work_json(struct json_writer *json, const struct run_report *report);

// A line on FLOPs; nothing where none are known.
void torch_work_put_flops(const struct screen *screen);

// Who held memory at the peak, where that is known.
bool torch_work_has_memory(const struct torch_report *torch);
void torch_work_put_memory(const struct screen *screen);

#endif
