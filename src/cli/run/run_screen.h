// SPDX-License-Identifier: Apache-2.0
// The report that `gait run` prints on stderr when a PyTorch training ended.
#ifndef GAIT_CLI_RUN_SCREEN_H
#define GAIT_CLI_RUN_SCREEN_H

// Prints nothing for other programs, and nothing that went wrong: the recording
// is there, and `gait report` will say what is the matter with it. A run so
// large that it would keep the user waiting is told so instead.
void run_screen_put(const char *directory, const char *shown_as);

#endif
