// SPDX-License-Identifier: Apache-2.0
// Whether a kernel computes on units for matrices (NVIDIA's tensor cores, AMD's matrix cores),
// as far as its name tells.
#ifndef GAIT_ANALYSE_TENSOR_USE_H
#define GAIT_ANALYSE_TENSOR_USE_H

enum tensor_use { TENSOR_UNKNOWN, TENSOR_NOT_USED, TENSOR_USED, TENSOR_USES };

// A name that tells nothing is no proof of anything: a product of matrices in Triton may use
// them or not, and its name is what its author called it.
enum tensor_use tensor_use_of(const char *kernel);

#endif
