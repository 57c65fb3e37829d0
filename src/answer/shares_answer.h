// SPDX-License-Identifier: Apache-2.0
// What `gait leaf` answers: each function with its shares of the samples.
#ifndef GAIT_ANSWER_SHARES_ANSWER_H
#define GAIT_ANSWER_SHARES_ANSWER_H

#include <stdint.h>

struct function_shares;
struct sheet;
struct stack_set;

// At most so many rows.
void shares_answer_put(struct sheet *sheet, const struct function_shares *shares,
                       const struct stack_set *set, uint64_t rows);

#endif
