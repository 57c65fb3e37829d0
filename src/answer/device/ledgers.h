// SPDX-License-Identifier: Apache-2.0
// The one ledger of every answer that has one: the turns of each rank, by what its devices did
// and by what its host did (docs/DEVICES.md).
#ifndef GAIT_ANSWER_LEDGERS_H
#define GAIT_ANSWER_LEDGERS_H

#include <gait/trace.h>

struct sheet;
struct turns;

// For people: what part of the turns of each rank is what; pages have it of all ranks as bars,
// too. Nothing where no turn has devices on record.
void ledgers_show(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns);

// The table `ledgers`, for scripts.
void ledgers_put(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns);

#endif
