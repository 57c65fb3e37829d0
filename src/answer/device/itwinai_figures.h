// SPDX-License-Identifier: Apache-2.0
// What itwinai's report would say of the same devices, beside what is true.
#ifndef GAIT_ANSWER_ITWINAI_FIGURES_H
#define GAIT_ANSWER_ITWINAI_FIGURES_H

#include "analyse/device/device_run.h"
#include "answer/sheet.h"

// Its sums under `compat`; for people, table `compat_beside`, beside the figures of `run`.
GAIT_CHECK int itwinai_figures_put(struct sheet *sheet, const struct device_run *run,
                                   struct gait_trace *trace);

#endif
