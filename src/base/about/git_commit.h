// SPDX-License-Identifier: Apache-2.0
// The git commit that a folder has checked out, read from git's files: no git is run.
#ifndef GAIT_BASE_GIT_COMMIT_H
#define GAIT_BASE_GIT_COMMIT_H

#include <stdbool.h>

enum { GIT_COMMIT_BYTES = 65 }; // SHA-256 in hexadecimal digits, and a 0

// False: the folder is in no repository, or its files are not as git makes them.
bool git_commit_of(const char *folder, char out[GIT_COMMIT_BYTES]);

// Whether the text begins with 40 or 64 hexadecimal digits, and nothing of a word behind them.
bool git_commit_is_id(const char *text);

#endif
