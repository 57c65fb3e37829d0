// SPDX-License-Identifier: Apache-2.0
// Where the time of a thread's windows, its steps mostly, went: every nanosecond to `evaluation`
// while that lasts, else to the innermost phase span, else to `other`. What is
// no part of evaluating (saving, compiling, users' phases) keeps its own.
//
// Pure: facts in, pieces of time out. The pieces of a window sum to it exactly.
#ifndef GAIT_ANALYSE_TORCH_LEDGER_H
#define GAIT_ANALYSE_TORCH_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct intervals;
struct training_thread;

struct torch_piece {
    size_t window; // its number
    unsigned phase;
    uint64_t ns;
    int64_t start_ns;
};

typedef int torch_ledger_visit(const struct torch_piece *piece, void *context); // not 0 stops

GAIT_CHECK int torch_ledger_split(const struct training_thread *thread,
                                  const struct intervals *windows, torch_ledger_visit *visit,
                                  void *context);

#endif
