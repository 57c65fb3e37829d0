// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis: the two ranks whose last long collective begins last.
#ifndef GAIT_ANALYSE_COMPAT_HTA_STRAGGLERS_H
#define GAIT_ANALYSE_COMPAT_HTA_STRAGGLERS_H

#include "analyse/compat/hta_rows.h"

enum { HTA_CANDIDATES = 2 };

struct hta_stragglers {
    int64_t ranks[HTA_CANDIDATES];
    size_t count; // 0: it raises: no long collective
};

GAIT_CHECK int hta_stragglers_make(struct hta_stragglers *late, const struct hta_run *run);

#endif
