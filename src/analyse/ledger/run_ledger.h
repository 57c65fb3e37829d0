// SPDX-License-Identifier: Apache-2.0
// The two passes of a report over the columns of a trace: steps, then spans.
#ifndef GAIT_ANALYSE_RUN_LEDGER_H
#define GAIT_ANALYSE_RUN_LEDGER_H

#include <gait/trace.h>

struct run_report;

// Fills in the steps, the ledger and how busy the threads were. The threads of
// the report are known by now and in any order.
GAIT_CHECK int run_ledger_make(struct run_report *report, struct gait_trace *trace);

#endif
