// SPDX-License-Identifier: Apache-2.0
// How much of a long file is read, told to who waits at a terminal: from one second
// on, in one line that goes away again.
#ifndef GAIT_CLI_READ_PROGRESS_H
#define GAIT_CLI_READ_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct read_progress {
    uint64_t done, all; // bytes; all 0: nobody knows
    uint64_t next_ns;   // when it is told again
    bool is_wanted, is_shown;
};

void read_progress_begin(struct read_progress *progress, uint64_t all);
void read_progress_add(struct read_progress *progress, uint64_t bytes);

// Takes the line away, before anything else is said.
void read_progress_clear(struct read_progress *progress);

#endif
