// SPDX-License-Identifier: Apache-2.0
// From frames that were walked to a node of the tree of stacks.
#ifndef GAIT_SAMPLE_STACK_COMMIT_H
#define GAIT_SAMPLE_STACK_COMMIT_H

#include <gait/error.h>

#include "sample/look/python_process.h"

// The node of the stack that process->walk holds, as far as its code objects are proven
// (code_proof.h), which the thread keeps; or an error
// where nothing can be said of it. What of it was left out is in walk->doubtful.
GAIT_CHECK int stack_commit(struct python_process *process, struct python_thread *thread);

#endif
