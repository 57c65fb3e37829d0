// SPDX-License-Identifier: Apache-2.0
// Torch numbers threads by itself and tells that number of a backward op's forward
// only; which of the system's threads it was follows from sequence numbers.
#ifndef GAIT_ANALYSE_OP_THREADS_H
#define GAIT_ANALYSE_OP_THREADS_H

#include <stddef.h>

#include <gait/internal/ops.h>

// Puts the system's number into fwd_thread where it can be told, else leaves it.
GAIT_CHECK int op_threads_match(struct gait_op *ops, size_t count);

#endif
