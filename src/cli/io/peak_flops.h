// SPDX-License-Identifier: Apache-2.0
// What a device can do at most, as people write it: 312e12, 312T.
#ifndef GAIT_CLI_PEAK_FLOPS_H
#define GAIT_CLI_PEAK_FLOPS_H

#include <gait/error.h>

// `text`, or where it is NULL what GAIT_PEAK_FLOPS says; 0 where that says nothing.
GAIT_CHECK int peak_flops_read(const char *text, double *ret_flops);

#endif
