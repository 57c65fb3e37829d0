// SPDX-License-Identifier: Apache-2.0
// Rows of levels of detail in memory until the file is made: 9 bytes each in place of 64. A run of
// 36 million spans has a million.
#ifndef GAIT_FACTS_LOD_PACK_H
#define GAIT_FACTS_LOD_PACK_H

#include <gait/error.h>

#include "base/buffer.h"
#include "facts/lod_row.h"

GAIT_CHECK int lod_pack(struct buffer *packed, const struct lod_row *rows, size_t count);

// Of what lod_pack() wrote: as many rows from byte `at` on. Returns the place behind them.
size_t lod_unpack(const struct buffer *packed, size_t at, struct lod_row *rows, size_t count);

#endif
