// SPDX-License-Identifier: Apache-2.0
// Arguments of an event as JSON text.
#ifndef GAIT_EXPORT_ARGS_JSON_H
#define GAIT_EXPORT_ARGS_JSON_H

#include <stddef.h>

#include <gait/trace.h>

#include "base/buffer.h"

// Appends `"key":value,…` without braces. Numbers stay as exact as they were
// given; a real that is not finite becomes a text, for JSON has none of these.
GAIT_CHECK int args_json_append(struct buffer *out, const struct gait_arg *args, size_t count);

#endif
