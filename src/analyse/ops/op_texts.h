// SPDX-License-Identifier: Apache-2.0
// The texts that numbers in a list of ops stand for.
#ifndef GAIT_ANALYSE_OP_TEXTS_H
#define GAIT_ANALYSE_OP_TEXTS_H

#include "base/arena.h"
#include "base/intern.h"

struct op_texts {
    struct arena arena;
    struct intern intern;
};

void op_texts_init(struct op_texts *texts);
void op_texts_finish(struct op_texts *texts);

GAIT_CHECK int op_texts_add(struct op_texts *texts, struct slice text, uint32_t *ret_number);
const char *op_texts_get(const struct op_texts *texts, uint32_t number); // NULL: no such

#endif
