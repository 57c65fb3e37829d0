// SPDX-License-Identifier: Apache-2.0
// The tracks of a Perfetto trace: processes, threads, lanes for what overlaps
// and gauges, each described when the first event needs it.
#ifndef GAIT_EXPORT_PERFETTO_TRACKS_H
#define GAIT_EXPORT_PERFETTO_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/perfetto/perfetto_writer.h"

// The track an event goes to, described before it is returned: a lane where
// the span fits, the event's own track, or the track of its gauge. Spans that
// ended before are ended on the way; is_alone: the caller ends this one itself,
// right after its beginning.
struct perfetto_lane {
    uint64_t uuid;
    bool is_alone;
};
GAIT_CHECK int perfetto_tracks_lane(struct perfetto_writer *perfetto,
                                    const struct gait_event *event, enum lane_role role,
                                    struct perfetto_lane *ret_lane);
GAIT_CHECK int perfetto_tracks_own(struct perfetto_writer *perfetto, uint32_t track,
                                   uint64_t *ret_uuid);
GAIT_CHECK int perfetto_tracks_gauge(struct perfetto_writer *perfetto,
                                     const struct gait_event *event, uint64_t *ret_uuid);

// Writes what has not been ended yet, at the end of the trace.
GAIT_CHECK int perfetto_tracks_end_all(struct perfetto_writer *perfetto);

#endif
