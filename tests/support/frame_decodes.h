// SPDX-License-Identifier: Apache-2.0
// How often a trace's frames were decoded, for tests of passes over it.
#ifndef GAIT_TESTS_FRAME_DECODES_H
#define GAIT_TESTS_FRAME_DECODES_H

#include "load/run.h"

// Of the frame that was decoded most often.
static unsigned most_decodes(const struct gait_trace *trace)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < trace->run.shard_count; i++) {
        const struct frame_list *list = &trace->run.shards[i]->shard.list;
        for (size_t k = 0; k < list->count; k++)
            most = list->entries[k].decodes > most ? list->entries[k].decodes : most;
    }
    return most;
}

#endif
