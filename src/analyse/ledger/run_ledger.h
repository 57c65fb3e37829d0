// SPDX-License-Identifier: Apache-2.0
// The steps that a program marked, or else its whole run, and where that time went
// by outermost spans: what a report says of a run of any kind.
#ifndef GAIT_ANALYSE_RUN_LEDGER_H
#define GAIT_ANALYSE_RUN_LEDGER_H

#include "analyse/ledger/ledger.h"
#include "analyse/ledger/run_marks.h"

struct report_thread;
struct run_report;

struct run_ledger {
    struct run_report *report;
    struct gait_trace *trace;
    struct run_marks *marks;
    uint32_t track_count, site_count;
    uint32_t *ledger_of; // of a track: its place in `ledgers`, UINT32_MAX: it has none
    struct ledger *ledgers;
    struct ledger_window *windows;
    struct ledger_sum *sums; // of all shards, by site
};

// The thread whose whole run a report without steps is about, of those in the report; NULL:
// there is none.
struct report_thread *run_ledger_main(struct run_report *report);

// Puts steps and threads into the report. Memory is the report's; marks, whose steps are
// sorted and merged in place, must outlive the ledger.
GAIT_CHECK int run_ledger_open(struct run_ledger *ledger, struct run_report *report,
                               struct gait_trace *trace, struct run_marks *marks);

// Reads the run once more, for the phases.
GAIT_CHECK int run_ledger_book(struct run_ledger *ledger);

#endif
