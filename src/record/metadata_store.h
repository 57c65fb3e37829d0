// SPDX-License-Identifier: Apache-2.0
// The program's own metadata of the session at hand, kept so that it can be told
// again: to a disk that had no room for it, and to snapshots. Callers hold the
// recorder's lock.
#ifndef GAIT_RECORD_METADATA_STORE_H
#define GAIT_RECORD_METADATA_STORE_H

#include <stdint.h>

#include "base/slice.h"
#include "format/journal.h"

#define METADATA_STORE_MAX_BYTES (4u << 20) // of all keys and values together

// Remembers the value of a key; the last one counts.
GAIT_CHECK int metadata_store_keep(struct slice key, struct slice json);

uint32_t metadata_store_count(void);
struct journal_row metadata_store_row(uint32_t index); // borrows its texts
void metadata_store_clear(void);

#endif
