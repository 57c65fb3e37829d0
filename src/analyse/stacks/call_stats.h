// SPDX-License-Identifier: Apache-2.0
// The functions of a .prof file as pstats shows them: folders cut off the file
// names, what is then called alike added up, ordered, limited.
#ifndef GAIT_ANALYSE_CALL_STATS_H
#define GAIT_ANALYSE_CALL_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "load/foreign/prof_file.h"

// NULL-terminated: what call_stats_make() takes as an order.
extern const char *const call_stats_orders[];

// How many of the functions are shown: all, a number, or a share of them.
struct call_limit {
    bool is_share, is_number;
    double share;
    __int128 number;
};

struct call_stats {
    __int128 calls, primitive_calls;
    double seconds;
    const char *ordered_by;       // in words
    const struct prof_row **rows; // those shown, in order
    size_t count, all_count;      // shown, and of how many
    const struct prof_row **top;  // marked ones
    size_t top_count;
};

// Lives in the file's arena, whose rows it changes. `order` is one of the orders.
GAIT_CHECK int call_stats_make(struct prof_file *file, const char *order,
                               const struct call_limit *limit, struct call_stats *ret_stats);

#endif
