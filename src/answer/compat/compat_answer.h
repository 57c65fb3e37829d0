// SPDX-License-Identifier: Apache-2.0
// What other tools would say of the same devices, beside what is true.
#ifndef GAIT_ANSWER_COMPAT_ANSWER_H
#define GAIT_ANSWER_COMPAT_ANSWER_H

#include "analyse/compat/foreign_rows.h"
#include "analyse/device/device_run.h"
#include "answer/sheet.h"

// What a tool is imitated from.
struct compat_asked {
    const struct foreign_run *foreign;
    const struct device_run *run; // what is true
};

extern const char *const compat_tools[]; // their names; ends with NULL

// Puts what `tool` says under `compat`, for people beside the true figures.
GAIT_CHECK int compat_answer_put(struct sheet *sheet, const char *tool,
                                 const struct device_run *run, struct gait_trace *trace);

// The true figures of a rank, NULL without a device.
const struct breakdown *compat_truth(const struct compat_asked *asked,
                                     const struct foreign_rows *rows);

// A row: what the tool says beside what is true, in ns, and why they differ. NAN: nothing.
struct compat_figure {
    const char *what;
    double said_ns, true_ns;
    const char *why;
};
void compat_beside(struct sheet *sheet, const struct foreign_rows *rows,
                   const struct compat_figure *figure);

// The answers into the object that is open; the figures into the table that is.
GAIT_CHECK int compat_put_hta(struct sheet *sheet, const struct compat_asked *asked);
GAIT_CHECK int compat_show_hta(struct sheet *sheet, const struct compat_asked *asked);
GAIT_CHECK int compat_put_tb(struct sheet *sheet, const struct compat_asked *asked);
GAIT_CHECK int compat_show_tb(struct sheet *sheet, const struct compat_asked *asked);

#endif
