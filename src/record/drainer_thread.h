// SPDX-License-Identifier: Apache-2.0
// The recorder's own thread: takes what the rings hold, makes spans and frames of it
// and appends them to the shard. Sleeps until a ring is a quarter full, a
// flush is wanted or five seconds have passed: a crash loses nothing meanwhile,
// the rings are in a file.
#ifndef GAIT_RECORD_DRAINER_THREAD_H
#define GAIT_RECORD_DRAINER_THREAD_H

#include <gait/error.h>

struct recorder;

// Starts the thread; the recorder's shard and pool are ready.
GAIT_CHECK int drainer_thread_start(struct recorder *recorder);

// Has it write what is left and waits for its end.
void drainer_thread_stop(struct recorder *recorder);

#endif
