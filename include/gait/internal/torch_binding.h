// SPDX-License-Identifier: Apache-2.0
// The collector of PyTorch's ops as the Python package teaches and tests it. What a
// program may call is in gait/torch.h. No header and no symbol of torch is needed to
// build this; everything is found, and tried out, in the process at hand.
//
// Calls may come from any thread and are serialised. Nothing is recorded while gait
// is not.
#ifndef GAIT_INTERNAL_TORCH_BINDING_H
#define GAIT_INTERNAL_TORCH_BINDING_H

#include <stddef.h>
#include <stdint.h>

#include "../torch.h"

#ifdef __cplusplus
extern "C" {
#endif

// Shapes are read only of tensors whose dispatch keys are known to be harmless:
// asking others for their sizes may run Python code. `tensor` is the address of
// a plain tensor's TensorImpl (`t._cdata`), `keys` its raw key set, `avoided`
// the raw key sets of all that must not be asked, or-ed together. May be called
// with several tensors until the place is unique; GAIT_ERR_STATE until then.
GAIT_API int gait_torch_guard(const void *tensor, uint64_t keys, uint64_t avoided);

// Arguments that are no tensors are told from what is known to be called: between
// gait_torch_learn(1) and gait_torch_learn(0) the calling thread runs
// full([3, 5], x) for x = 7, 7.25 and a complex number, and sum(tensor, [1], true).
// Without it they all look alike.
GAIT_API int gait_torch_learn(int is_on);

// Ranges: what torch and the program mark by name (DataLoader, optimizer, DDP,
// gloo, torch.profiler.record_function). Other ops pay nothing for it. Cannot be
// switched while a window is open: GAIT_ERR_STATE.
GAIT_API int gait_torch_ranges(int is_on);

// The collector's part of a window, past the arbiter: all ops from this call to the
// close. After the close nothing of it remains in torch.
GAIT_API int gait_torch_window_open(unsigned levels);
GAIT_API int gait_torch_window_close(void);

// The table of symbols and fields as JSON text into `room` bytes at `json`,
// ended by 0. Returns the bytes it takes without the 0, however many fit.
GAIT_API size_t gait_torch_describe(char *json, size_t room);

#ifdef __cplusplus
}
#endif
#endif
