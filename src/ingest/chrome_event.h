// SPDX-License-Identifier: Apache-2.0
// One event of the Trace Event Format, as Kineto and others write it, into a store.
#ifndef GAIT_INGEST_CHROME_EVENT_H
#define GAIT_INGEST_CHROME_EVENT_H

#include "ingest/chrome_begins.h"
#include "ingest/chrome_parts.h"
#include "ingest/chrome_scout.h"

struct chrome_reader {
    struct chrome_parts parts;
    struct pattern_table patterns;
    struct pattern_walk walk;
    struct chrome_notes *notes; // of a scout, or NULL
    const uint8_t *noted_from;  // the stretch that they are of
    struct chrome_begins begins;
    uint32_t last_track; // of these two
    char last_pid[24], last_tid[24];
    bool has_devices; // some event was of a device
};

GAIT_CHECK int chrome_reader_init(struct chrome_reader *reader, struct event_store *store,
                                  struct repairs *repairs);
void chrome_reader_finish(struct chrome_reader *reader);

// Reads the object at hand: 1, SCAN_CUT or SCAN_BROKEN, or why it failed. `scan` moves
// behind it when it is read.
int chrome_reader_event(struct chrome_reader *reader, struct json_scan *scan);

// No more events come: what has not ended lasts as long as what it is in.
GAIT_CHECK int chrome_reader_end(struct chrome_reader *reader);

#endif
