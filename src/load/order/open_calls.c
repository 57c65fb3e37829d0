// SPDX-License-Identifier: Apache-2.0
#include "load/order/open_calls.h"

#include <stdlib.h>

#include "base/array.h"

#define MOST_OPEN (1u << 20)

void open_calls_finish(struct open_calls *open)
{
    free(open->calls);
    *open = (struct open_calls){.calls = NULL};
}

const struct open_call *open_calls_at(struct open_calls *open, int64_t start_ns)
{
    while (open->depth && open->calls[open->depth - 1].end_ns <= start_ns)
        open->depth--;
    return open->depth ? &open->calls[open->depth - 1] : NULL;
}

int open_calls_push(struct open_calls *open, int64_t end_ns, uint64_t number)
{
    return ARRAY_ADD(open->calls, open->depth, open->room, MOST_OPEN,
                     &(struct open_call){end_ns, number});
}
