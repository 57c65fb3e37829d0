// SPDX-License-Identifier: Apache-2.0
// The rows of a run as HolisticTraceAnalysis keeps them: in whole microseconds, each span cut
// to those that it has in full, and without what its filter takes away.
#ifndef GAIT_ANALYSE_COMPAT_HTA_ROWS_H
#define GAIT_ANALYSE_COMPAT_HTA_ROWS_H

#include "analyse/compat/foreign_rows.h"

enum hta_kind { HTA_COMMUNICATION, HTA_MEMORY, HTA_COMPUTATION, HTA_OTHER };

struct hta_row {
    int64_t start_us, end_us; // a span within one microsecond ends before it starts
    const struct foreign_row *row;
};

struct hta_step {
    int64_t start_us, end_us, number;
};

struct hta_rank {
    const struct foreign_rows *foreign;
    int64_t rank, first_call_us;
    struct hta_row *rows; // of calls and of devices, in order of start
    size_t count;
    struct hta_row *device; // those with a stream, in order of start
    size_t device_count;
    int64_t *steps; // numbers of the steps that are left, in order
    size_t step_count;
    struct hta_step *step_spans; // of all of its steps, the dropped ones too
    size_t step_span_count;
    int64_t *launched; // correlations of calls that have a device row in the whole trace, sorted
    size_t launched_count;
};

struct hta_run {
    struct hta_rank *ranks; // in order of their numbers
    size_t count;
    int64_t first_us; // of all rows, the dropped ones too
};

// `with_last_step`: the variant include_last_profiler_step.
GAIT_CHECK int hta_run_make(struct hta_run *run, const struct foreign_run *foreign,
                            bool with_last_step);
void hta_run_finish(struct hta_run *run); // takes a zeroed struct

enum hta_kind hta_kind_of(const char *name);

// Work of a device, or the wait of a call for one.
bool hta_row_is_of_device(const struct foreign_row *row);

#endif
