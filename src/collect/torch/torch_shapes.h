// SPDX-License-Identifier: Apache-2.0
// The tensors among an op's arguments as a text that is kept once: "f32[8,16]
// f32[16] - i64[]". An argument that is no tensor, or an undefined one, is "-"
// where a tensor follows; one that must not be asked is "?".
#ifndef GAIT_COLLECT_TORCH_SHAPES_H
#define GAIT_COLLECT_TORCH_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

struct torch_thread;

// Learns torch's numbers for dtypes; after torch_layout_learn().
void torch_shapes_init(void);

// Tensors with one of these dispatch keys are not asked for their sizes.
void torch_shapes_avoid(uint64_t keys);

// Whether shapes can be had of this torch.
bool torch_shapes_can(void);

void torch_shapes_set_strides(bool is_on);

// The string id of the text for the inputs of `function`; 0 when there is no
// tensor among them, or no room for another text.
uint32_t torch_shapes_of(struct torch_thread *thread, const void *function);

// Ops whose shapes were given up for want of room.
uint64_t torch_shapes_lost(void);

#endif
