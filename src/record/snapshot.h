// SPDX-License-Identifier: Apache-2.0
// A snapshot is a shard of its own with what the rings hold at this moment.
// Whoever wants one asks the drainer, which alone may look at the rings' tracks.
#ifndef GAIT_RECORD_SNAPSHOT_H
#define GAIT_RECORD_SNAPSHOT_H

#include <stdbool.h>

struct recorder;

struct snapshot_request {
    const char *path;
    int status;
    char text[512]; // why it failed
    bool is_done;
};

// On the drainer's thread, between two rounds.
void snapshot_serve(struct recorder *recorder);

#endif
