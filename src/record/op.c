// SPDX-License-Identifier: Apache-2.0
// The rare halves of op.h: where there is no room at hand.
#include "record/op.h"

// The span as it can be had, then its arguments if it was not dropped.
void op_begin_slow(uint32_t site, const struct slot_op *op)
{
    writer_begin_slow(site);
    const struct writer *writer = writer_self;
    if (!writer || writer->gaps & 1 || writer->deep || !(op->seq_above || op->shapes || op->scope))
        return;
    struct slot *slot = writer_enter(1, false);
    if (!slot)
        return;
    *slot = slot_of_op(op);
    writer_publish(1, false);
}

void op_memory_slow(uint32_t site, const struct op_memory *memory)
{
    struct slot *slot = writer_enter(3, true);
    if (!slot)
        return;
    op_put_memory(slot, site, memory);
    writer_publish(3, true);
}
