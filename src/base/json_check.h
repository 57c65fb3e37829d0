// SPDX-License-Identifier: Apache-2.0
// Says whether bytes are one JSON value (RFC 8259, strict, valid UTF-8).
#ifndef GAIT_BASE_JSON_CHECK_H
#define GAIT_BASE_JSON_CHECK_H

#include <stdbool.h>

#include "base/slice.h"

#define JSON_CHECK_MAX_DEPTH 64

// False also when values nest deeper than JSON_CHECK_MAX_DEPTH.
bool json_is_valid(struct slice text);

#endif
