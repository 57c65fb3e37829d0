// SPDX-License-Identifier: Apache-2.0
// Where the time of a thread's steps went: every nanosecond to `evaluation`
// while that lasts, else to the innermost phase span, else to `other`. What is
// no part of evaluating (saving, compiling, users' phases) keeps its own.
//
// Pure: facts in, pieces of time out. The pieces of a window sum to it exactly.
#ifndef GAIT_ANALYSE_TORCH_LEDGER_H
#define GAIT_ANALYSE_TORCH_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct hook_facts;
struct intervals;

struct torch_piece {
    size_t window; // its number
    unsigned phase;
    uint64_t ns;
    int64_t start_ns;
};

typedef void torch_ledger_visit(const struct torch_piece *piece, void *context);

struct torch_ledger {
    const struct hook_facts *facts;
    const struct intervals *windows, *evaluation;
    torch_ledger_visit *visit;
    void *context;
};

GAIT_CHECK int torch_ledger_split(const struct torch_ledger *ledger);

#endif
