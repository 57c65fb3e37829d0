// SPDX-License-Identifier: Apache-2.0
// PyTorch's ops on record, for a program in C++ that uses libtorch. (A Python
// program needs none of this: `gait run` opens windows by itself.)
//
//     gait_start(NULL);
//     gait_torch_attach();
//     int window = gait_window_hold(GAIT_TORCH_SHAPES | GAIT_TORCH_MEMORY);
//     train_some_steps();
//     gait_window_leave(window);
//
// Calls may come from any thread and are serialised. A child of fork has no
// window open, whatever its parent had. gait_record_error() says why one failed.
#ifndef GAIT_TORCH_H
#define GAIT_TORCH_H

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

// Finds the torch that this process has loaded and learns how it lays out what
// a callback is given. Works at any time after torch is there, also again.
// GAIT_ERR_MISSING: no torch is loaded, or it has no callbacks. Fields that
// could not be found are no failure: gait_torch_lacks() names them.
GAIT_API int gait_torch_attach(void);

// What this torch does not tell, in one line, "" when it tells all. Valid until
// the next call.
GAIT_API const char *gait_torch_lacks(void);

// What a window records besides the names, scopes, sequence numbers and forward
// threads of all ops. What the attach did not find is left out in silence.
enum gait_torch_level {
    GAIT_TORCH_SHAPES = 1,  // shapes and dtypes of tensor arguments
    GAIT_TORCH_MEMORY = 2,  // allocations and releases, of all threads
    GAIT_TORCH_STRIDES = 4, // with the shapes, where a tensor is not contiguous
};

// Ops are on record from here on, until the last holder has left. The process has
// one window; up to 30 may hold it at a time, each with levels of its own. It has
// all levels that its holders want: where one wants more than there is, it is
// closed and opened anew. Returns a number above 0 for gait_window_leave(), or
// GAIT_ERR_STATE: gait is off, torch is not attached, or 30 hold it already.
GAIT_API GAIT_CHECK int gait_window_hold(unsigned levels);

// After the last one nothing of the window remains in torch. A number that holds
// nothing (any more) is GAIT_ERR_ARGUMENT.
GAIT_API int gait_window_leave(int number);

#ifdef __cplusplus
}
#endif
#endif
