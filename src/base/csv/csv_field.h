// SPDX-License-Identifier: Apache-2.0
// A text as a field of CSV (RFC 4180).
#ifndef GAIT_BASE_CSV_FIELD_H
#define GAIT_BASE_CSV_FIELD_H

#include "base/buffer.h"

// Quoted where that is needed; what is no UTF-8 becomes U+FFFD. What a terminal or an editor
// would obey is shown as \xNN or \u{NNNN}, and an apostrophe stands in front of what a
// spreadsheet would calculate (docs/EXPORTS.md).
GAIT_CHECK int csv_field_append(struct buffer *out, const char *text, size_t bytes);

#endif
