// SPDX-License-Identifier: Apache-2.0
// PyTorch's ops on record: what the Python package asks of libgait.so once
// `torch` is loaded. No header and no symbol of torch is needed to build this;
// everything is found, and tried out, in the process at hand.
//
// Calls may come from any thread and are serialised. A child of fork has no
// window open, whatever its parent had. Nothing is recorded while gait is not.
#ifndef GAIT_TORCH_H
#define GAIT_TORCH_H

#include <stddef.h>
#include <stdint.h>

#include "../error.h"

#ifdef __cplusplus
extern "C" {
#endif

// Finds the torch that this process has loaded and learns how it lays out what
// a callback is given. Works at any time after torch is there, also again.
// GAIT_ERR_MISSING: no torch is loaded, or it has no callbacks. Fields that
// could not be found are no failure: gait_torch_lacks() names them.
GAIT_API int gait_torch_attach(void);

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

// All ops, from this call to the close: names, scopes, sequence numbers and
// forward threads, and what `levels` adds. What the attach did not find is left
// out in silence. After the close nothing of it remains in torch.
enum gait_torch_level {
    GAIT_TORCH_SHAPES = 1,  // shapes and dtypes of tensor arguments
    GAIT_TORCH_MEMORY = 2,  // allocations and releases, of all threads
    GAIT_TORCH_STRIDES = 4, // with the shapes, where a tensor is not contiguous
};
GAIT_API int gait_torch_window_open(unsigned levels);
GAIT_API int gait_torch_window_close(void);

// What this torch does not tell, in one line, "" when it tells all. Valid until
// the next call.
GAIT_API const char *gait_torch_lacks(void);

// The table of symbols and fields as JSON text into `room` bytes at `json`,
// ended by 0. Returns the bytes it takes without the 0, however many fit.
GAIT_API size_t gait_torch_describe(char *json, size_t room);

#ifdef __cplusplus
}
#endif
#endif
