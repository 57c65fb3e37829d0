// SPDX-License-Identifier: Apache-2.0
// What each function had of the samples: itself (it was the innermost) and in
// all (it was on the stack, counted once however often it stands there); of one
// set of stacks or of two that are compared.
#ifndef GAIT_ANALYSE_FUNCTION_SHARES_H
#define GAIT_ANALYSE_FUNCTION_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct stack_set;

struct function_count {
    uint64_t self, total;
};

struct function_share {
    const char *name, *path; // of the set's; path "": not told
    struct function_count counts[2];
    double change;   // of two: the greater one of its shares' changes, 0 to 1
    bool is_doubted; // two recordings of one program may differ by as much
    bool is_self;    // `change` is that of the share of its own
};

struct function_shares {
    struct function_share *rows;
    size_t count;
    uint64_t samples[2];  // that are in functions
    uint64_t left_out[2]; // stacks without a function
};

// Most samples of their own first. The set must outlive the shares.
GAIT_CHECK int function_shares_make(const struct stack_set *set, struct function_shares *ret);

// Those whose share changed, greatest change first. A function that one set
// names by a short path and the other by a long one is the same.
GAIT_CHECK int function_shares_compare(const struct stack_set *before,
                                       const struct stack_set *after, struct function_shares *ret);

void function_shares_finish(struct function_shares *shares); // takes a zeroed one

static inline double function_share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

#endif
