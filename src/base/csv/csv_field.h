// SPDX-License-Identifier: Apache-2.0
// A text as a field of CSV (RFC 4180).
#ifndef GAIT_BASE_CSV_FIELD_H
#define GAIT_BASE_CSV_FIELD_H

#include "base/buffer.h"

// Quoted where that is needed; what is no UTF-8 becomes U+FFFD.
GAIT_CHECK int csv_field_append(struct buffer *out, const char *text, size_t bytes);

#endif
