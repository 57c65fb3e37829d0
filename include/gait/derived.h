// SPDX-License-Identifier: Apache-2.0
// The read side of gait: the steps of a PyTorch training and the phases in them.
// They are on no record: they are worked out of what is (docs/TORCH.md), and are
// those that `gait report` counts for each rank.
#ifndef GAIT_DERIVED_H
#define GAIT_DERIVED_H

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gait_derived;

// Finds them, in memory that grows with their number. Events have the category
// "derived" and the track of the thread that trains; their site is GAIT_NO_SITE.
//   GAIT_KIND_STEP  a step, `id` is its number; not where gait.step() recorded it
//   GAIT_KIND_SPAN  the time of one phase without a break, `name` is the phase; the
//                   argument "step" is the number of its step
// The spans of a step follow each other without a gap and sum to the step. `query`
// chooses as for gait_cursor_open(). A run without PyTorch has none of them.
GAIT_API GAIT_CHECK int gait_derived_open(struct gait_trace *trace, const struct gait_query *query,
                                          struct gait_derived **ret_derived);

// In order of start, a step before its phases: 1 and an event, or 0 at the end. The
// event's pointers are good until the next call.
GAIT_API GAIT_CHECK int gait_derived_next_sized(struct gait_derived *derived,
                                                struct gait_event *ret_event, size_t size);
static inline GAIT_CHECK int gait_derived_next(struct gait_derived *derived,
                                               struct gait_event *ret_event)
{
    return gait_derived_next_sized(derived, ret_event, sizeof(*ret_event));
}
GAIT_API void gait_derived_close(struct gait_derived *derived); // takes NULL

// Why there is nothing, whatever the query: a sentence, or NULL where there is something.
GAIT_API const char *gait_derived_why_none(const struct gait_derived *derived);

#ifdef __cplusplus
}
#endif
#endif
