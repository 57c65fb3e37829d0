// SPDX-License-Identifier: Apache-2.0
// When ops are recorded: wait, warm up, record, save, and again. The arithmetic
// only, pure and without state; both libraries export it.
//
// A position is a step, an epoch or a second since the beginning, from 0. Each
// has one action. A cycle that ends in SAVE makes one trace.
#ifndef GAIT_SCHEDULE_H
#define GAIT_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "../error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gait_action { GAIT_ACTION_NONE, GAIT_ACTION_WARMUP, GAIT_ACTION_RECORD, GAIT_ACTION_SAVE };
enum gait_unit { GAIT_UNIT_STEP, GAIT_UNIT_EPOCH, GAIT_UNIT_SECONDS };

#define GAIT_SCHEDULE_MOST (INT64_C(1) << 40) // no number of a schedule is larger
#define GAIT_SCHEDULE_RANGES 32

struct gait_schedule_range {
    int64_t first, last;
};

// `size` must be sizeof(struct gait_schedule). With ranges, these positions are
// recorded, `warmup` before each warms up, and the rest does not count.
struct gait_schedule {
    size_t size;
    int64_t wait, warmup, active;
    int64_t repeat;      // cycles; 0: until the end
    int64_t skip_first;  // positions before the first cycle
    int64_t every;       // a cycle begins each so many positions; 0: one behind the other
    int skip_first_wait; // not 0: the first cycle does not wait
    enum gait_unit unit;
    uint32_t range_count; // in order, apart from each other
    struct gait_schedule_range ranges[GAIT_SCHEDULE_RANGES];
};

// GAIT_ERR_ARGUMENT names the number that makes no sense. Nothing else here
// checks; a schedule with active 0 and no ranges records nothing.
GAIT_API GAIT_CHECK int gait_schedule_check(const struct gait_schedule *schedule);

// The schedule that a text means, for settings and the command line: "off", "all",
// FIRST/ACTIVE[/EVERY] as in 5/3/100, "steps=5,10-12", or numbers by their names,
// "wait=1,warmup=1,active=3,repeat=2,skip_first=1,unit=epoch". Checked.
GAIT_API GAIT_CHECK int gait_schedule_parse(const char *text, struct gait_schedule *ret_schedule);

// The last failure of these two on this thread in words, "" if none.
GAIT_API const char *gait_schedule_error(void);

// What is done at a position; of which cycle, from 0, or -1 (may be NULL).
GAIT_API enum gait_action gait_schedule_at(const struct gait_schedule *schedule, int64_t position,
                                           int64_t *ret_cycle);

// The first position after this one whose action is another; INT64_MAX: none.
GAIT_API int64_t gait_schedule_next(const struct gait_schedule *schedule, int64_t position);

// How many positions a run must have for `cycles` whole cycles; 0: for all of them,
// or for one where they never end. INT64_MAX: no run has so many.
GAIT_API int64_t gait_schedule_needs(const struct gait_schedule *schedule, int64_t cycles);

// How many of the first `length` positions are recorded.
GAIT_API int64_t gait_schedule_recorded(const struct gait_schedule *schedule, int64_t length);

// How many cycles there are, 0: no end.
GAIT_API int64_t gait_schedule_cycles(const struct gait_schedule *schedule);

// itwinai's rule for runs of known length: all that is left after wait and warmup is
// active. Where nothing is left the longer of the two gives way, warmup where they
// are equal. 1: it had to; 0: not; GAIT_ERR_ARGUMENT: no epochs.
GAIT_API GAIT_CHECK int gait_schedule_clamp(struct gait_schedule *schedule, int64_t epochs);

// The plan for people, ended by 0, into `room` bytes at `text`: the numbers, the
// states, a line a cycle, and a warning where a run of `length` positions (0: not
// known) is too short. Returns the bytes it takes without the 0, however many fit.
GAIT_API size_t gait_schedule_plan(const struct gait_schedule *schedule, int64_t length, char *text,
                                   size_t room);

#ifdef __cplusplus
}
#endif
#endif
