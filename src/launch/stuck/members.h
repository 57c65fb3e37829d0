// SPDX-License-Identifier: Apache-2.0
// The processes of a job that are its ranks: those under a process, or those of a run's
// shards. Launchers, workers of loaders and shells are none.
#ifndef GAIT_LAUNCH_MEMBERS_H
#define GAIT_LAUNCH_MEMBERS_H

#include <limits.h>

#include "launch/stuck/process_look.h"
#include "launch/stuck/record_look.h"
#include "launch/stuck/stack_look.h"

struct member {
    int64_t pid, rank, world; // rank -1, world 0: not known
    char host[65];            // "": this one
    char shard[PATH_MAX];     // "": it is not recorded
    bool is_elsewhere, has_ended;
    char why[512]; // it cannot be looked at; ""
    struct stack_look stack;
    struct process_look first, now;
    struct record_look told_first, told;
    uint64_t bytes; // of the shard
    char call[300];
};

struct members {
    struct member **items;
    size_t count, capacity;
};

// Adds what `operand` names: a process and those below it, or a run. Fails where that is
// nothing that can be looked at; fail_text() says why.
GAIT_CHECK int members_add(struct members *members, const char *operand);
void members_sort(struct members *members); // by rank, then by number
void members_finish(struct members *members);

#endif
