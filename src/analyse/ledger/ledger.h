// SPDX-License-Identifier: Apache-2.0
// Where the time of a thread's windows (its steps, or the whole run) went. Each
// instant belongs to the outermost span that covers it, else to nobody; so the
// parts and the rest sum to the windows exactly.
//
// A span that was begun before a window and covers all of it is the window's
// surroundings (a `train` span around all steps), not a part of it: the spans
// within count as outermost then. A span that crosses a border counts as far
// as it lies inside.
//
// Pure: spans in, sums out. Spans of one thread come in order of start, the
// longer first; what overlaps without being nested goes to whoever began first.
#ifndef GAIT_ANALYSE_LEDGER_H
#define GAIT_ANALYSE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_window {
    int64_t start_ns, end_ns;
    int64_t covered_ns; // all before is given away already; set by ledger_init()
};

struct ledger_span {
    int64_t start_ns, end_ns; // INT64_MAX: still open
    uint32_t site;
};

struct ledger_sum {
    uint64_t total_ns, parts; // parts: spans (or pieces of spans) that counted
};

struct ledger {
    struct ledger_window *windows; // of one thread, sorted by start
    size_t count, first;
    bool is_whole_run;       // nothing surrounds it: every span counts
    struct ledger_sum *sums; // by site; may be shared by several ledgers
    uint32_t site_count;
};

// Borrows windows and sums. Resets the windows, adds to the sums.
void ledger_init(struct ledger *ledger, struct ledger_window *windows, size_t count,
                 struct ledger_sum *sums, uint32_t site_count);

void ledger_add(struct ledger *ledger, const struct ledger_span *span);

#endif
