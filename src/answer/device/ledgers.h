// SPDX-License-Identifier: Apache-2.0
// The one ledger of every answer that has one: the turns of each rank, by what its devices did
// and by what its host did (docs/DEVICES.md).
#ifndef GAIT_ANSWER_LEDGERS_H
#define GAIT_ANSWER_LEDGERS_H

#include <stdbool.h>

#include <gait/trace.h>

struct rank_activity;
struct sheet;
struct turns;

// For people: what part of the turns of each rank is what; pages have it of all ranks as bars,
// too. Nothing where no turn has devices on record.
void ledgers_show(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns);

// The table `ledgers`, for scripts.
void ledgers_put(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns);

// What devices did by what the host did: the tables `activity` and `activity_totals` of all ranks,
// and a rank's for people.
void activities_put(struct sheet *sheet, const struct gait_trace *trace, const struct turns *turns);
void activity_show(struct sheet *sheet, const struct gait_trace *trace,
                   const struct rank_activity *activity, bool is_of_page);

#endif
