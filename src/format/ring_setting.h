// SPDX-License-Identifier: Apache-2.0
// How people choose a ring's size and what happens when it is full. The program
// that records and the tool that starts it judge the same words alike.
#ifndef GAIT_FORMAT_RING_SETTING_H
#define GAIT_FORMAT_RING_SETTING_H

#include <gait/error.h>

#include "format/ring_file.h"

#define RING_SETTING_MIN_BYTES (UINT64_C(4) << 10)
#define RING_SETTING_MAX_BYTES (UINT64_C(1) << 30)
#define RING_SETTING_DEFAULT_BYTES (UINT64_C(1) << 20)
#define RING_SETTING_DEFAULT_POLICY RING_DROP

extern const char *const ring_setting_policies[]; // by enum ring_policy; ends with NULL

// Fail with what is wrong with the text, to stand behind the name of what it was
// given for: "'many' is no size such as 65536, 64K or 16M".
GAIT_CHECK int ring_setting_policy(const char *text, enum ring_policy *ret_policy);
GAIT_CHECK int ring_setting_bytes(const char *text, uint64_t *ret_bytes);

#endif
