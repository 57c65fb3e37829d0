// SPDX-License-Identifier: Apache-2.0
// The commit of the folder that a program lies in, for what the run says of itself.
#ifndef GAIT_LAUNCH_RUN_COMMIT_H
#define GAIT_LAUNCH_RUN_COMMIT_H

#include "base/about/git_commit.h"

enum { RUN_COMMIT_BYTES = GIT_COMMIT_BYTES + 8 };

// "<id> dirty", "<id> clean", or "<id>" where git is not there, takes longer than 200 ms, or would
// start what the repository names; "": no repository. The folder is that of the first *.py among
// the arguments, else this one.
void run_commit_find(char *const *arguments, char out[RUN_COMMIT_BYTES]);

#endif
