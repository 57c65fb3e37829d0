// SPDX-License-Identifier: Apache-2.0
// How torch calls a callback's start: it returns a std::unique_ptr by value, for
// which the caller gives room. On x86-64 the room's address comes as a hidden
// first argument, as `start` takes it; on aarch64 it comes in register x8, which
// C has no word for.
#ifndef GAIT_COLLECT_TORCH_SHIM_H
#define GAIT_COLLECT_TORCH_SHIM_H

#include "collect/torch/torch_library.h"

// Puts the two into `callback`. At most TORCH_SHIM_MAX different starts.
#define TORCH_SHIM_MAX 4
void torch_shim_set(struct torch_callback *callback, void *(*start)(void **, const void *),
                    void (*end)(const void *, void *));

// Puts two that do nothing there.
void torch_shim_set_nothing(struct torch_callback *callback);

#endif
