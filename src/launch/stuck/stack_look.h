// SPDX-License-Identifier: Apache-2.0
// The Python stack of one thread of a live process, looked at again and again: whether it
// changes, and where it stands.
#ifndef GAIT_LAUNCH_STACK_LOOK_H
#define GAIT_LAUNCH_STACK_LOOK_H

#include <gait/error.h>

#include "analyse/stuck/stuck.h"
#include "base/arena.h"
#include "sample/look/python_process.h"

struct stack_look {
    bool is_open;
    struct stack_trie trie;
    struct python_process process;
    uint32_t node, user; // of the last look: the innermost frame; the user's innermost one
    bool has_moved;      // the user's frames were not always the same
    uint64_t looks;
};

// 0, or a failure with a sentence.
GAIT_CHECK int stack_look_open(struct stack_look *look, int64_t pid);
void stack_look_close(struct stack_look *look); // takes a zeroed one

// Looks at thread `tid`.
void stack_look_take(struct stack_look *look, int64_t tid);

// Whether some frame is of torch's launchers: they wait for their ranks.
bool stack_look_is_launcher(const struct stack_look *look);

// Tells place, frames and the collective of the last look; what is kept comes from `arena`.
// False: there is no memory.
bool stack_look_tell(const struct stack_look *look, struct arena *arena, struct stuck_rank *rank);

#endif
