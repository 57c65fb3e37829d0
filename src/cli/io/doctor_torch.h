// SPDX-License-Identifier: Apache-2.0
// `gait doctor torch`: what can be seen of the torch in the user's Python, which
// only that Python can tell. It runs a program of the package.
#ifndef GAIT_CLI_DOCTOR_TORCH_H
#define GAIT_CLI_DOCTOR_TORCH_H

#include <stdbool.h>

#include <gait/error.h>

// Prints what the program says; its exit code comes back in `ret_code`. With `patches` that
// is what gait puts in the place of functions of torch.
GAIT_CHECK int doctor_torch(bool is_json, bool patches, int *ret_code);

#endif
