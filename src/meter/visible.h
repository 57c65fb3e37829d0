// SPDX-License-Identifier: Apache-2.0
// Which GPUs of a machine a program may use, as its environment says it. Pure.
#ifndef GAIT_METER_VISIBLE_H
#define GAIT_METER_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

enum { VISIBLE_MOST = 64, VISIBLE_MOST_PARTS = 8 };

// A GPU in the order in which its library numbers it.
struct visible_gpu {
    char uuid[96];
    char parts[VISIBLE_MOST_PARTS][96]; // UUIDs of its MIG devices
    size_t part_count;
};

struct visible_words { // NULL: not set
    const char *cuda, *hip, *rocr;
};

enum visible_use { VISIBLE_NOT, VISIBLE_WHOLE, VISIBLE_PART };

// Fills `use` for `count` GPUs of NVIDIA: CUDA_VISIBLE_DEVICES, which CUDA reads up to the
// first word that means none.
void visible_of_cuda(const struct visible_words *words, const struct visible_gpu *gpus,
                     size_t count, enum visible_use *use);

// The same for AMD: HIP_VISIBLE_DEVICES, or else CUDA_VISIBLE_DEVICES, numbers what
// ROCR_VISIBLE_DEVICES left.
void visible_of_rocm(const struct visible_words *words, const struct visible_gpu *gpus,
                     size_t count, enum visible_use *use);

#endif
