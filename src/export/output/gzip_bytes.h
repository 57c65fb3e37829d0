// SPDX-License-Identifier: Apache-2.0
// Bytes in memory, packed with gzip in memory.
#ifndef GAIT_EXPORT_GZIP_BYTES_H
#define GAIT_EXPORT_GZIP_BYTES_H

#include <gait/error.h>

#include "base/buffer.h"
#include "base/slice.h"

// Appends to `out`.
GAIT_CHECK int gzip_bytes(struct slice bytes, struct buffer *out);

#endif
