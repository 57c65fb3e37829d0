// SPDX-License-Identifier: Apache-2.0
// What the launcher says about the job this process belongs to: several
// `gait run` of one job (srun, mpirun) must meet in one run directory.
#ifndef GAIT_LAUNCH_JOB_H
#define GAIT_LAUNCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writes a name that all processes of the job have in common and no other job
// has: letters, digits and ".-_". False when no launcher is to be seen.
bool job_name(char *out, size_t room);

// The same, and where no launcher names the job what its ranks agree on: where they meet
// (MASTER_ADDR and its like) and how many they are. A later job may have that name again.
bool job_name_of_ranks(char *out, size_t room);

// The rank of this process, -1 if nobody says so.
int64_t job_rank(void);

#endif
