// SPDX-License-Identifier: Apache-2.0
// What a recording says of the program and the machine, so that runs can be told apart later:
// command line, commit, machine (not with GAIT_METADATA=0), and tags.
#ifndef GAIT_RECORD_IDENTITY_H
#define GAIT_RECORD_IDENTITY_H

// Puts it among the metadata of the session that has begun. What cannot be found is missing.
void identity_tell(void);

#endif
