// SPDX-License-Identifier: Apache-2.0
// The sites of a whole trace: equal ones from different shards are one.
#ifndef GAIT_LOAD_SITE_TABLE_H
#define GAIT_LOAD_SITE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/index/hash_index.h"
#include "base/intern.h"

#include <gait/trace.h>

struct site_table {
    struct gait_site_info *sites; // 0 is the site without a name
    uint8_t *roles;               // of each: enum role, decided once
    size_t count, capacity, role_capacity;
    struct hash_index index;
};

GAIT_CHECK int site_table_init(struct site_table *table, struct intern *texts);
void site_table_finish(struct site_table *table); // takes NULL and a zeroed struct

// The number of that site. Its texts must come from one intern: they are
// compared by address.
GAIT_CHECK int site_table_number(struct site_table *table, const struct gait_site_info *site,
                                 uint32_t *ret_number);

#endif
