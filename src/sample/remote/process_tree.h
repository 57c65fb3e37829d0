// SPDX-License-Identifier: Apache-2.0
// Who started whom, from /proc.
#ifndef GAIT_SAMPLE_PROCESS_TREE_H
#define GAIT_SAMPLE_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The processes that any thread of `pid` started and that still run.
size_t process_tree_children(int64_t pid, int64_t *out, size_t room);

// The thread that traces this one, and the process of a thread; 0: none.
int64_t process_tree_tracer(int64_t tid);
int64_t process_tree_group(int64_t tid);
bool process_tree_ended(int64_t tid); // a zombie has

// Its command line with blanks between the words, or "".
void process_tree_name(int64_t pid, char *out, size_t room);

#endif
