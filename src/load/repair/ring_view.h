// SPDX-License-Identifier: Apache-2.0
// A ring file seen from outside: what a process left behind, or is writing at
// this moment (src/format/ring_file.h). Read in copies, and nothing in it is
// trusted.
#ifndef GAIT_LOAD_RING_VIEW_H
#define GAIT_LOAD_RING_VIEW_H

#include <stdbool.h>

#include "base/buffer.h"
#include "format/ring_file.h"
#include "load/file/file_source.h"

struct ring_view {
    struct file_source source;
    struct ring_file_header header;
    bool is_live;  // its process is still there
    uint64_t next; // offset of the next region
};

// Opens the ring file at `path` if it belongs to `session` (32 hex digits).
GAIT_CHECK int ring_view_open(struct ring_view *view, const char *path, const char *session);
bool ring_view_is_locked(int descriptor);     // by a process that lives
void ring_view_close(struct ring_view *view); // takes NULL

// 1 and where the next ring or journal stands, 0 behind the last one or where
// the regions make no sense any more.
GAIT_CHECK int ring_view_next(struct ring_view *view, struct ring_region *ret_region,
                              uint64_t *ret_offset);

// Position behind the last slot that was published.
uint64_t ring_view_position(const struct ring_head *head);

// The heads as they are now.
GAIT_CHECK int ring_view_head(struct ring_view *view, uint64_t offset, struct ring_head *ret_head);
GAIT_CHECK int ring_view_journal(struct ring_view *view, uint64_t offset,
                                 struct buffer *ret_entries);

// Copies the slots of positions [from, to) to their places in ret_slots, which
// becomes as large as the ring.
GAIT_CHECK int ring_view_slots(struct ring_view *view, uint64_t offset,
                               const struct ring_head *head, uint64_t from,
                               struct buffer *ret_slots);

#endif
