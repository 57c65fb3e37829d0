// SPDX-License-Identifier: Apache-2.0
// Whether a signal was sent to us alone or to our whole process group, which the
// program is in: the kernel does not say.
#ifndef GAIT_LAUNCH_GROUP_WITNESS_H
#define GAIT_LAUNCH_GROUP_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

// A process of our group that does nothing and blocks all signals, so that what the
// group is sent stays pending there.
struct group_witness {
    pid_t pid; // -1: none could be made
};

void group_witness_start(struct group_witness *witness);
void group_witness_end(struct group_witness *witness);

// Whether it has been sent that signal since it started or was last asked about one
// that it had. Waits a moment: `timeout` sends to its child first, then to the group.
bool group_witness_saw(struct group_witness *witness, int number);

#endif
