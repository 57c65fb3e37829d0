// SPDX-License-Identifier: Apache-2.0
// Which tables hold events (docs/FORMAT.md section 4). A step comes before the
// span that begins with it, a span before what happens at its begin.
#include "load/order/event_table.h"

#include <stddef.h>

#include "format/schema.h"

static const struct event_table tables[TABLE_COUNT] = {
    [TABLE_STEP] = {.is_event = 1,
                    .kind = GAIT_KIND_STEP,
                    .rank = 0,
                    .columns = {[ROLE_START] = 1, [ROLE_DURATION] = 2, [ROLE_ID] = 3}},
    [TABLE_SPAN] = {.foreign = 6,
                    .is_event = 1,
                    .kind = GAIT_KIND_SPAN,
                    .rank = 1,
                    .columns = {[ROLE_START] = 1,
                                [ROLE_DURATION] = 2,
                                [ROLE_SITE] = 3,
                                [ROLE_DEPTH] = 4,
                                [ROLE_BYTES] = 5}},
    [TABLE_ASYNC] = {.foreign = 6,
                     .is_event = 1,
                     .kind = GAIT_KIND_ASYNC,
                     .rank = 2,
                     .columns = {[ROLE_START] = 1,
                                 [ROLE_SITE] = 2,
                                 [ROLE_ID] = 3,
                                 [ROLE_PHASE] = 4,
                                 [ROLE_BYTES] = 5}},
    [TABLE_FLOW] =
        {.foreign = 5,
         .is_event = 1,
         .kind = GAIT_KIND_FLOW,
         .rank = 3,
         .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_ID] = 3, [ROLE_PHASE] = 4}},
    [TABLE_MARK] = {.foreign = 4,
                    .is_event = 1,
                    .kind = GAIT_KIND_MARK,
                    .rank = 4,
                    .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_BYTES] = 3}},
    [TABLE_COUNTER] = {.foreign = 4,
                       .is_event = 1,
                       .kind = GAIT_KIND_COUNTER,
                       .rank = 5,
                       .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_VALUE] = 3}},
    [TABLE_COUNTER_REAL] = {.foreign = 4,
                            .is_event = 1,
                            .is_real = 1,
                            .kind = GAIT_KIND_COUNTER,
                            .rank = 6,
                            .columns = {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_VALUE] = 3}},
    [TABLE_DROP] =
        {.is_event = 1,
         .kind = GAIT_KIND_DROP,
         .rank = 7,
         .columns = {[ROLE_START] = 1, [ROLE_DURATION] = 2, [ROLE_ID] = 3, [ROLE_REASON] = 4}},
    [TABLE_SAMPLE] = {.is_event = 1,
                      .site_is_stack = 1,
                      .kind = GAIT_KIND_SAMPLE,
                      .rank = 8,
                      .columns =
                          {[ROLE_START] = 1, [ROLE_SITE] = 2, [ROLE_VALUE] = 3, [ROLE_PHASE] = 4}},
    [TABLE_MEMORY] = {.is_event = 1,
                      .kind = GAIT_KIND_MEMORY,
                      .rank = 9,
                      .columns = {[ROLE_START] = 1,
                                  [ROLE_PHASE] = 2,
                                  [ROLE_ID] = 3,
                                  [ROLE_VALUE] = 4,
                                  [ROLE_TOTAL] = 5,
                                  [ROLE_SITE] = 6}},
    [TABLE_LOG] = {.is_event = 1,
                   .kind = GAIT_KIND_LOG,
                   .rank = 10,
                   .columns = {[ROLE_START] = 1, [ROLE_VALUE] = 2, [ROLE_BYTES] = 3}},
};

const struct event_table *event_table_of(uint32_t table)
{
    if (table >= TABLE_COUNT || !tables[table].is_event)
        return NULL;
    return &tables[table];
}
