// SPDX-License-Identifier: Apache-2.0
// Where the files of another process are for us: it may have another root, another
// mount namespace.
#ifndef GAIT_SAMPLE_PROCESS_ROOT_H
#define GAIT_SAMPLE_PROCESS_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Its executable as it names it, or "".
void process_root_program(int64_t pid, char *out, size_t room);

// Maps name files from the root of the process's mount namespace as far as we see
// it; that is neither its own root nor ours for certain.
struct process_root {
    char path[40];       // "/proc/PID/root"
    char link[PATH_MAX]; // where that is, if it is not a root for us too; else ""
    bool is_ours;        // its mount namespace
};

void process_root_ask(int64_t pid, struct process_root *ret_root);

// Under which name we find the file that its maps call `file`.
void process_root_place(const struct process_root *root, const char *file, char *out, size_t room);

#endif
