// SPDX-License-Identifier: Apache-2.0
// What the devices did, for the verdict: on the rank that holds the others up, or on all.
#ifndef GAIT_ANALYSE_DEVICE_FACTS_H
#define GAIT_ANALYSE_DEVICE_FACTS_H

#include <gait/error.h>

struct gait_trace;
struct run_report;
struct verdict_facts;

// Fills in `devices` and `lacks_device_rows`, and of the report the ranks that were judged.
GAIT_CHECK int device_facts_find(struct run_report *report, struct gait_trace *trace,
                                 struct verdict_facts *facts);

#endif
