// SPDX-License-Identifier: Apache-2.0
// The table, and nothing else: a test has one of its own in its place.
#include "collect/collector.h"

const struct collector *const collectors[] = {
    &collector_torch,
    &collector_python,
    &collector_nsight,
    &collector_devices,
};
const size_t collector_count = sizeof(collectors) / sizeof(collectors[0]);

_Static_assert(sizeof(collectors) / sizeof(collectors[0]) <= COLLECTORS_MAX, "see window.c");
