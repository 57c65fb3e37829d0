// SPDX-License-Identifier: Apache-2.0
// mkdir -p, for all that is written where the user says.
#ifndef GAIT_SHARD_FOLDERS_H
#define GAIT_SHARD_FOLDERS_H

#include <gait/error.h>

// Makes the folders that lead to `path`: a and a/b of a/b/c.
GAIT_CHECK int folders_make_above(const char *path);

// And that one too; those that are made have `mode`. A folder that is there stays as it is.
GAIT_CHECK int folders_make(const char *path, unsigned mode);

#endif
