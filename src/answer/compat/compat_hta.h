// SPDX-License-Identifier: Apache-2.0
// Parts of what HolisticTraceAnalysis says, and the numbers of Python in JSON.
#ifndef GAIT_ANSWER_COMPAT_HTA_H
#define GAIT_ANSWER_COMPAT_HTA_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyse/compat/hta_rows.h"
#include "analyse/compat/stats.h"
#include "answer/sheet.h"

static inline struct value real(double number)
{
    return value_if(isfinite(number), value_real(number));
}

static inline struct value rounded(double number, int digits)
{
    return real(stats_round(number, digits));
}

static inline void open_number(struct sheet *sheet, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    sheet_object(sheet, text);
}

// Idle times, queues, copies and launches.
GAIT_CHECK int compat_put_hta_streams(struct sheet *sheet, const struct hta_run *run);

// The critical path of the first rank that has the waits for it.
GAIT_CHECK int compat_put_hta_path(struct sheet *sheet, const struct hta_run *run);
// The path of the first annotation, beside the time that the annotation took.
GAIT_CHECK int compat_show_hta_path(struct sheet *sheet, const struct hta_rank *rank);

#endif
