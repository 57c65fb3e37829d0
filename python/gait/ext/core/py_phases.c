// SPDX-License-Identifier: Apache-2.0
// Shared by the hooks, which write it, and schedules.
#include "core/py_phases.h"

uint32_t py_phases_done;
int py_phases_evaluated;
