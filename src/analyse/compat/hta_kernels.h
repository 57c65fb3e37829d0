// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis: rows added up by name, and what it calls others.
#ifndef GAIT_ANALYSE_COMPAT_HTA_KERNELS_H
#define GAIT_ANALYSE_COMPAT_HTA_KERNELS_H

#include "analyse/compat/hta_rows.h"

struct hta_kernel {
    const char *name;
    int64_t sum_us, least_us, most_us;
    double mean_us, deviation_us;
};

struct hta_kernels {
    struct hta_kernel *rows; // in order of their names
    size_t count;
};

// Which rows, and how many names at most before the rest is added up.
struct hta_wish {
    const char *category; // NULL: device rows of `kind`
    enum hta_kind kind;
    double share; // of the running sums: the quantile beyond which names are others
    size_t most;
};

GAIT_CHECK int hta_kernels_make(struct hta_kernels *kernels, const struct hta_rank *rank,
                                const struct hta_wish *wish);
void hta_kernels_finish(struct hta_kernels *kernels);

#endif
