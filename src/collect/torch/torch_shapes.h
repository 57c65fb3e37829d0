// SPDX-License-Identifier: Apache-2.0
// An op's arguments as a text that is kept once, a word for each: "f32[8,16]
// (f32[16] f32[16]) s -". Tensors and lists of them have dtype and sizes, or "?"
// where they must not be asked; numbers are "s", lists of them "S"; all else, and
// a tensor that is not defined, is "-". docs/TORCH.md tells the rest.
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

// The string id of the text for the inputs of `function`; 0 when there are none,
// or no room for another text. With values numbers are told, too.
uint32_t torch_shapes_of(struct torch_thread *thread, const void *function, bool has_values);

// Ops whose shapes were given up for want of room.
uint64_t torch_shapes_lost(void);

#endif
