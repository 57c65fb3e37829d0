// SPDX-License-Identifier: Apache-2.0
// How the processes of a run ended, and the run itself where it failed.
#ifndef GAIT_ANSWER_REPORT_ENDS_H
#define GAIT_ANSWER_REPORT_ENDS_H

struct gait_trace;
struct run_report;
struct sheet;

// In front of everything else: those that did not end well.
void report_ends_say(struct sheet *sheet, const struct run_report *report,
                     const struct gait_trace *trace);
void report_ends_list(struct sheet *sheet, const struct gait_trace *trace);

// The object `failure`, and what the program's own exception says; nothing of one that ended well.
void report_ends_failure(struct sheet *sheet, const struct run_report *report,
                         const struct gait_trace *trace);

#endif
