// SPDX-License-Identifier: Apache-2.0
// Which tables hold events, and which of their columns plays which part.
#ifndef GAIT_LOAD_EVENT_TABLE_H
#define GAIT_LOAD_EVENT_TABLE_H

#include <stdint.h>

#include <gait/trace.h>

#include "format/schema.h"

enum event_role {
    ROLE_START,
    ROLE_DURATION,
    ROLE_SITE,
    ROLE_DEPTH,
    ROLE_ID,
    ROLE_VALUE,
    ROLE_PHASE,
    ROLE_TOTAL,
    ROLE_REASON,
    ROLE_LINK, // the columns of foreign traces, in the order of enum blank; NULL where a frame
    ROLE_OP,   // has none of them
    ROLE_SIZE,
    ROLE_V1,
    ROLE_FORM = ROLE_LINK + BLANK_COUNT,
    ROLE_NUMBERS, // so many parts are played by numbers; the bytes come after
    ROLE_BYTES = ROLE_NUMBERS,
    ROLE_COUNT,
};

#define ROLE_BIT(role) (1u << (role))
#define ROLES_FOREIGN (((2u << ROLE_FORM) - 1) & ~((1u << ROLE_LINK) - 1))
#define ROLE_ALL ((1u << ROLE_COUNT) - 1)

// Where a part stands in a table: the column's number + 1; 0: nowhere.
struct event_table {
    uint8_t columns[ROLE_COUNT];
    uint8_t is_event;
    uint8_t is_real;       // value is a double's bits
    uint8_t site_is_stack; // the site is the leaf of a stack
    uint8_t foreign;       // ROLE_LINK; the others up to ROLE_FORM stand behind it
    uint8_t rank;          // who comes first among events of one tick
    enum gait_kind kind;
};

// The same of any part, those of foreign traces too.
static inline uint8_t event_table_column(const struct event_table *table, enum event_role role)
{
    if (role < ROLE_LINK || role > ROLE_FORM)
        return table->columns[role];
    return table->foreign ? (uint8_t)(table->foreign + role - ROLE_LINK) : 0;
}

// The part that columns of that table play, or NULL when it holds no events.
const struct event_table *event_table_of(uint32_t table);

#endif
