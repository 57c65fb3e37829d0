// SPDX-License-Identifier: Apache-2.0
// From what a gather read to a stack that existed: frame by frame to the root,
// and off with what moved meanwhile.
#ifndef GAIT_SAMPLE_STACK_WALK_H
#define GAIT_SAMPLE_STACK_WALK_H

#include "sample/cpython/code_cache.h"
#include "sample/look/snapshot_read.h"

enum walk_result {
    WALK_DONE,
    WALK_CUT,     // a stack whose innermost frames moved: they are in doubt
    WALK_TORN,    // nothing can be said: too much moved
    WALK_UNKNOWN, // a frame was not expected: learn it and look again
};

// 256 threads of full depth. Memory that lies may hold far more, in circles.
enum { STACK_WALK_MOST = 256 * PYTHON_THREAD_DEPTH };

struct stack_walk {
    struct frame_point frames[PYTHON_THREAD_DEPTH]; // innermost first
    uint64_t at[PYTHON_THREAD_DEPTH];               // where each lies
    uint64_t read_ns;                               // when the look ended
    uint32_t count;
    uint32_t doubtful; // of them, the innermost: not the same before and after
    uint64_t others;   // a bit for each of the innermost 64: another function's lay there before
    uint64_t top;      // of the innermost one in a chunk; 0: none
    uint64_t unknown;  // of the one that was not expected; 0: the current frame's place was not
    bool is_fresh;     // what is in doubt is as one copy of one moment has it
    bool is_deep;      // the outermost frames were left out: PYTHON_THREAD_DEPTH, or spent
    uint64_t spent;    // frames looked at since the caller set it to 0; STACK_WALK_MOST end it
};

enum walk_result stack_walk(struct stack_walk *walk, const struct snapshot_read *gather,
                            const struct code_cache *codes, struct python_thread *thread);

#endif
