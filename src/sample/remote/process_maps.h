// SPDX-License-Identifier: Apache-2.0
// The files that a process has mapped, as far as an interpreter may be in them.
#ifndef GAIT_SAMPLE_PROCESS_MAPS_H
#define GAIT_SAMPLE_PROCESS_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

struct mapped_file {
    uint64_t start, end; // of its first mapping, the one of the file's first byte
    uint64_t inode;      // of the file that was mapped, whatever has its name now
    bool is_program;     // the executable itself
    char path[PATH_MAX]; // as the process names it
};

enum { PROCESS_MAPS_CANDIDATES = 8 };

// The executable first, then libraries named libpython, then what else has
// python in its name; at most PROCESS_MAPS_CANDIDATES. Their number, or a
// negative errno (0 for a process without memory: a zombie, a kernel thread).
int process_maps_candidates(int64_t pid, struct mapped_file *out);

// Opens a mapped file as the process has it: another root, another mount
// namespace. A descriptor, or a negative errno: it was removed or replaced since,
// and to have it nevertheless is not for everybody.
int process_maps_open(int64_t pid, const struct mapped_file *file);

#endif
