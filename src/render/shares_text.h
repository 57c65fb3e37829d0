// SPDX-License-Identifier: Apache-2.0
// `gait diff-stacks`: functions with their shares before and after.
#ifndef GAIT_RENDER_SHARES_TEXT_H
#define GAIT_RENDER_SHARES_TEXT_H

#include <stdint.h>

#include "analyse/stacks/function_shares.h"

struct sheet;

struct shares_text {
    const struct function_shares *shares; // of two sets
    uint64_t rows;                        // at most
    uint64_t bad_lines[2];                // of each set
};

// Words first, then the table.
void shares_text_put_changes(struct sheet *sheet, const struct shares_text *text);

#endif
