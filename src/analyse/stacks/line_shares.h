// SPDX-License-Identifier: Apache-2.0
// What each line of one source file had of the samples.
#ifndef GAIT_ANALYSE_LINE_SHARES_H
#define GAIT_ANALYSE_LINE_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct stack_set;

struct line_share {
    int32_t line;         // 0: not told
    uint64_t self, total; // total: on the stack, counted once
};

struct line_shares {
    const char *path; // as the samples have it
    struct line_share *rows;
    size_t count; // in order of line
    uint64_t samples, in_file;
    uint64_t most; // of a line's totals, from 1
};

// `file` is a path, or an end of one that only one file has; `whole` its whole path,
// NULL: not known. Fails in a sentence where no sample is in it. The set must outlive
// the shares.
GAIT_CHECK int line_shares_make(const struct stack_set *set, const char *file, const char *whole,
                                struct line_shares *ret);
void line_shares_finish(struct line_shares *shares); // takes a zeroed one

#endif
