// SPDX-License-Identifier: Apache-2.0
// The text of a source file that samples name.
#ifndef GAIT_CLI_SOURCE_TEXT_H
#define GAIT_CLI_SOURCE_TEXT_H

#include <gait/error.h>

#include "base/buffer.h"

// All of a regular file. On failure `out` holds what it held before.
GAIT_CHECK int source_text_read(const char *path, struct buffer *out);

#endif
