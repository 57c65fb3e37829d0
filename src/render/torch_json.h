// SPDX-License-Identifier: Apache-2.0
// What a report of a PyTorch run holds beyond any other's, as JSON.
#ifndef GAIT_RENDER_TORCH_JSON_H
#define GAIT_RENDER_TORCH_JSON_H

#include <stdint.h>

struct json_writer;
struct run_report;
struct torch_phases;
struct torch_report;

// "phases": the twelve in their order, then users'; they sum to `sums`.
void torch_json_phases(struct json_writer *json, const struct torch_phases *phases,
                       const uint64_t *sums);
void torch_json_no_phases(struct json_writer *json, const struct torch_phases *phases); // all 0

void torch_json_put(struct json_writer *json, const struct run_report *report);

// More keys of the object "overhead".
void torch_json_put_cost(struct json_writer *json, const struct torch_report *torch);

#endif
