// SPDX-License-Identifier: Apache-2.0
// `gait leaf --functions` and `gait diff-stacks`: functions with their shares.
#ifndef GAIT_RENDER_SHARES_TEXT_H
#define GAIT_RENDER_SHARES_TEXT_H

#include <stdio.h>

#include "analyse/stacks/function_shares.h"

struct shares_text {
    const struct function_shares *shares;
    uint64_t rows;         // at most
    uint64_t blocked;      // samples of the first, whose threads were known to be
    uint64_t bad_lines[2]; // of each set
};

void shares_text_put(FILE *out, const struct shares_text *text);
void shares_text_put_json(FILE *out, const struct shares_text *text);

// Two sets: words first, then the table.
void shares_text_put_changes(FILE *out, const struct shares_text *text);
void shares_text_put_changes_json(FILE *out, const struct shares_text *text);

#endif
