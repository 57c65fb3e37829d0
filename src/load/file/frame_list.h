// SPDX-License-Identifier: Apache-2.0
// Which frames stand in a file: from the index at its end, or by hopping from
// header to header and searching on after damage. Payloads are not looked at.
#ifndef GAIT_LOAD_FRAME_LIST_H
#define GAIT_LOAD_FRAME_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/frame.h"
#include "load/file/damage.h"
#include "load/file/file_source.h"

enum frame_flag {
    FRAME_IS_BAD = 1,      // its payload or content turned out to be damaged
    FRAME_IS_SALVAGED = 2, // stands in memory, made from the ring file
    FRAME_IS_REPLACED = 4, // a salvaged frame holds its rows
    FRAME_IS_NOTED = 8,    // a part of it is damaged; the rest is served
};

struct frame_entry {
    uint64_t offset; // of the header: in the file, or in the salvaged bytes
    uint64_t sequence, first, last;
    uint32_t rows, stored_bytes, track, events;
    uint16_t table;
    uint8_t flags;
    uint8_t decodes; // how often its events were decoded, for tests; 255: or more
};

struct frame_list {
    struct frame_entry *entries; // in file order
    size_t count, capacity;
    uint64_t next_sequence; // of a frame appended after these
    uint64_t end;           // where the last intact frame ends
    bool has_trailer;
};

// Lists the frames of `source`; damaged ranges go to `damage`. Fails only for
// want of memory or when the system refuses to read.
GAIT_CHECK int frame_list_load(struct frame_list *list, struct file_source *source,
                               struct damage *damage);

// The same by hopping alone, whatever stands at the end of the file.
GAIT_CHECK int frame_list_hop(struct frame_list *list, struct file_source *source,
                              struct damage *damage);
void frame_list_finish(struct frame_list *list); // takes NULL

GAIT_CHECK int frame_list_add(struct frame_list *list, const struct frame_header *header,
                              uint64_t offset);

// Whether the header that was read is the one that was listed.
bool frame_entry_matches(const struct frame_entry *entry, const struct frame_header *header);

#endif
