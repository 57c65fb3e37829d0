// SPDX-License-Identifier: Apache-2.0
// How much memory a training has and how long its thread waited for a processor, read
// where a step begins: ten times a second at first, and less often the longer it lasts.
#ifndef GAIT_PY_VITALS_H
#define GAIT_PY_VITALS_H

#include "core/py_compat.h"

#include <stdint.h>

// This step begins on the calling thread; all steps on the same one, in order.
void py_vitals_step(int64_t step);

#endif
