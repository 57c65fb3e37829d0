// SPDX-License-Identifier: Apache-2.0
// Which tables hold events (docs/FORMAT.md section 4). A step comes before the
// span that begins with it, a span before what happens at its begin.
#include "load/order/event_table.h"

#include <stddef.h>

#include "format/schema.h"

// Its kind, who comes first among events of one tick, and the first column of what another
// tool says of it; 0: it says nothing.
#define EVENT(kind_, rank_, foreign_)                                                              \
    .is_event = 1, .kind = (kind_), .rank = (rank_), .foreign = (foreign_)

static const struct event_table tables[TABLE_COUNT] = {
    [TABLE_STEP] = {EVENT(GAIT_KIND_STEP, 0, 0),
                    .columns = {[ROLE_START] = 1, [ROLE_DURATION] = 2, [ROLE_ID] = 3}},
    [TABLE_SPAN] = {EVENT(GAIT_KIND_SPAN, 1, 6), .columns = {[ROLE_START] = 1,
                                                             [ROLE_DURATION] = 2,
                                                             [ROLE_SITE] = 3,
                                                             [ROLE_DEPTH] = 4,
                                                             [ROLE_BYTES] = 5}},
    [TABLE_ASYNC] = {EVENT(GAIT_KIND_ASYNC, 2, 6), .columns = {[ROLE_START] = 1,
                                                               [ROLE_SITE] = 2,
                                                               [ROLE_ID] = 3,
                                                               [ROLE_PHASE] = 4,
                                                               [ROLE_BYTES] = 5}},
    [TABLE_FLOW] =
        {EVENT(GAIT_KIND_FLOW, 3, 5),
         .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_ID] = 3, [ROLE_PHASE] = 4}},
    [TABLE_MARK] = {EVENT(GAIT_KIND_MARK, 4, 4),
                    .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_BYTES] = 3}},
    [TABLE_COUNTER] = {EVENT(GAIT_KIND_COUNTER, 5, 4),
                       .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_VALUE] = 3}},
    [TABLE_COUNTER_REAL] = {EVENT(GAIT_KIND_COUNTER, 6, 4), .is_real = 1,
                            .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_VALUE] = 3}},
    [TABLE_DROP] =
        {EVENT(GAIT_KIND_DROP, 7, 0),
         .columns = {[ROLE_START] = 1, [ROLE_DURATION] = 2, [ROLE_ID] = 3, [ROLE_REASON] = 4}},
    [TABLE_SAMPLE] =
        {EVENT(GAIT_KIND_SAMPLE, 8, 0), .site_is_stack = 1,
         .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_VALUE] = 3, [ROLE_PHASE] = 4}},
    [TABLE_MEMORY] = {EVENT(GAIT_KIND_MEMORY, 9, 0), .columns = {[ROLE_START] = 1,
                                                                 [ROLE_PHASE] = 2,
                                                                 [ROLE_ID] = 3,
                                                                 [ROLE_VALUE] = 4,
                                                                 [ROLE_TOTAL] = 5,
                                                                 [ROLE_SITE] = 6}},
    [TABLE_LOG] = {EVENT(GAIT_KIND_LOG, 10, 0),
                   .columns = {[ROLE_START] = 1, [ROLE_VALUE] = 2, [ROLE_BYTES] = 3}},
};

const struct event_table *event_table_of(uint32_t table)
{
    if (table >= TABLE_COUNT || !tables[table].is_event)
        return NULL;
    return &tables[table];
}
