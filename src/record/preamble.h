// SPDX-License-Identifier: Apache-2.0
// What every shard says before its first event: schema, who is recording, the
// dictionary so far.
#ifndef GAIT_RECORD_PREAMBLE_H
#define GAIT_RECORD_PREAMBLE_H

#include <stdint.h>

#include "base/clock.h"
#include "format/table_writer.h"
#include "record/birth.h"
#include "record/settings.h"

#define PREAMBLE_TRACK_DRAINER 1u // the drainer's own track
#define PREAMBLE_FIRST_TRACK 2u

struct preamble {
    const struct settings *settings;
    const uint8_t *session_id; // 16 bytes
    const char *ring_path;     // "" when in anonymous memory
    struct clock_anchor first_anchor;
    struct birth birth; // not known: nothing is said of it
    uint64_t tick_hz;
    int64_t drainer_tid; // 0: no track of its own
    bool is_brief;       // without the names that the program made
};

GAIT_CHECK int preamble_write(const struct preamble *preamble, struct table_writer *tables);

// All strings and sites known to the process.
GAIT_CHECK int preamble_write_dictionary(struct table_writer *tables);

// One row of meta with a number or a truth, and of clock.
GAIT_CHECK int preamble_write_number(const char *key, int64_t value, struct table_writer *tables);
GAIT_CHECK int preamble_write_truth(const char *key, bool value, struct table_writer *tables);
GAIT_CHECK int preamble_write_anchor(const struct clock_anchor *anchor,
                                     struct table_writer *tables);

#endif
