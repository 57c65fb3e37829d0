// SPDX-License-Identifier: Apache-2.0
// Whether a signal was sent to us alone or to our whole process group, which the
// program is in: the kernel does not say.
#ifndef GAIT_LAUNCH_SIGNAL_GROUP_PROBE_H
#define GAIT_LAUNCH_SIGNAL_GROUP_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

// A process of our group that does nothing and blocks all signals, so that what the
// group is sent stays pending there.
struct signal_group_probe {
    pid_t pid; // -1: none could be made
};

void signal_group_probe_start(struct signal_group_probe *witness);
void signal_group_probe_end(struct signal_group_probe *witness);

// Whether it has been sent that signal since it started or was last asked about one
// that it had. Waits a moment: `timeout` sends to its child first, then to the group.
bool signal_group_probe_saw(struct signal_group_probe *witness, int number);

#endif
