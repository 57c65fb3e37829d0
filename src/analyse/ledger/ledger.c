// SPDX-License-Identifier: Apache-2.0
// One walk along the time line: each window remembers up to where it has been
// given away, so a nested span finds nothing left to take.
#include "analyse/ledger/ledger.h"

#include "base/invariant.h"

void ledger_init(struct ledger *ledger, struct ledger_window *windows, size_t count,
                 struct ledger_sum *sums, uint32_t site_count)
{
    *ledger =
        (struct ledger){.windows = windows, .count = count, .sums = sums, .site_count = site_count};
    for (size_t i = 0; i < count; i++)
        windows[i].covered_ns = windows[i].start_ns;
}

static void add_to_window(struct ledger *ledger, struct ledger_window *window,
                          const struct ledger_span *span)
{
    bool surrounds = span->start_ns < window->start_ns && span->end_ns >= window->end_ns;
    if (surrounds && !ledger->is_whole_run)
        return;
    int64_t from = span->start_ns > window->covered_ns ? span->start_ns : window->covered_ns;
    int64_t to = span->end_ns < window->end_ns ? span->end_ns : window->end_ns;
    if (from >= to)
        return;
    struct ledger_sum *sum = &ledger->sums[span->site < ledger->site_count ? span->site : 0];
    sum->total_ns += (uint64_t)to - (uint64_t)from;
    GAIT_ASSERT(to > window->covered_ns && to <= window->end_ns); // no time is given twice
    sum->parts++;
    window->covered_ns = to;
}

void ledger_add(struct ledger *ledger, const struct ledger_span *span)
{
    // spans come in order of start: what ended before this one is done with
    while (ledger->first < ledger->count && ledger->windows[ledger->first].end_ns <= span->start_ns)
        ledger->first++;
    for (size_t i = ledger->first; i < ledger->count; i++) {
        if (ledger->windows[i].start_ns >= span->end_ns)
            break;
        add_to_window(ledger, &ledger->windows[i], span);
    }
}
