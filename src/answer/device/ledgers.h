// SPDX-License-Identifier: Apache-2.0
// The one ledger of every answer that has one: the turns of each rank, by what its devices did
// and by what its host did (docs/DEVICES.md).
#ifndef GAIT_ANSWER_LEDGERS_H
#define GAIT_ANSWER_LEDGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

struct rank_activity;
struct sheet;
struct turn_rank;
struct turns;

// What the thread that makes the steps of a rank did in its turns: the phases of the steps, what of
// a step has none, and what lies between steps. They sum to the turns.
struct host_parts {
    const struct turns *turns;
    const struct turn_rank *rank;
    uint64_t phases_ns, host_ns;
    size_t at;
};
// False: they are not known.
bool host_parts_begin(struct host_parts *parts, const struct turns *turns,
                      const struct turn_rank *rank);
// The name of the next one; NULL behind the last.
const char *host_parts_next(struct host_parts *parts, uint64_t *ret_ns);

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
