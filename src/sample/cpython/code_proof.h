// SPDX-License-Identifier: Apache-2.0
// Whether the code objects of a stack that a walk found are what is known of them. They
// are read after the look. One that was known before, and still is the same, was the same
// in between. One that was not known is read, and then its frame is read again: where it
// still stands, its code object was not freed since the look.
#ifndef GAIT_SAMPLE_CODE_PROOF_H
#define GAIT_SAMPLE_CODE_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/cpython/code_cache.h"
#include "sample/look/python_thread.h"
#include "sample/look/stack_walk.h"

struct code_proof;

// A step of a proof that takes longer than this proves nothing: gait was put aside, and
// who knows what ran since.
#define CODE_PROOF_STEP_NS 40000u

GAIT_CHECK int code_proof_create(struct code_cache *codes, uint64_t most_step_ns,
                                 struct code_proof **ret_proof);
void code_proof_destroy(struct code_proof *proof); // takes NULL

// Proves what can be proven of the stack that was walked, for code_cache_known().
// `takes_doubtful`: the doubtful frames' code objects too, where they are not known.
void code_proof_make(struct code_proof *proof, const struct stack_walk *walk,
                     const struct python_thread *thread, bool takes_doubtful);

#endif
