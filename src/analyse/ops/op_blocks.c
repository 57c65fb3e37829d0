// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ops/op_event.h"
#include "base/array.h"

void op_blocks_init(struct op_blocks *blocks)
{
    *blocks = (struct op_blocks){.is_live = NULL};
    tuple_map_init(&blocks->addresses, 1);
}

void op_blocks_finish(struct op_blocks *blocks)
{
    op_memory_finish(&blocks->memory);
    tuple_map_finish(&blocks->addresses);
    free(blocks->is_live);
    blocks->is_live = NULL;
}

// Is the release of a block from before the capture? Then torch.profiler does not
// know of it, whatever we do.
static int note_block(struct op_blocks *blocks, const struct gait_event *event, bool *ret_is_older)
{
    const size_t known = blocks->addresses.count;
    uint32_t index;
    int status = tuple_map_add(&blocks->addresses, &event->id, &index);
    if (!status)
        status = ARRAY_RESERVE(blocks->is_live, blocks->room, blocks->addresses.count, UINT32_MAX);
    if (status)
        return status;
    const bool was_live = blocks->addresses.count == known && blocks->is_live[index];
    blocks->is_live[index] = event->value > 0;
    *ret_is_older = event->value <= 0 && !was_live;
    return GAIT_OK;
}

// What torch.profiler takes for the memory of the CPU, by its numbers of devices.
static bool is_device_memory(int64_t device)
{
    enum { CPU = 0, MKLDNN = 2, IDEEP = 5 };
    return device != CPU && device != MKLDNN && device != IDEEP;
}

// Another tool's trace left out what it did not know of.
int op_blocks_see(struct op_blocks *blocks, const struct gait_event *event, int64_t thread)
{
    struct op_memory_event change = {.at_ns = event->start_ns, .thread = thread};
    bool is_older = false;
    int status = GAIT_OK;
    if (event->kind == GAIT_KIND_MEMORY) {
        change.bytes = event->value;
        change.is_device = strcmp(event->name, "cpu") != 0;
        status = note_block(blocks, event, &is_older);
    } else {
        change.bytes = op_event_number(event, "Bytes", event->bytes);
        change.is_device = is_device_memory(op_event_number(event, "Device Type", 0));
    }
    return status || is_older ? status : op_memory_add(&blocks->memory, &change);
}
