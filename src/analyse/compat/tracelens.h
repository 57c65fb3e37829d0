// SPDX-License-Identifier: Apache-2.0
// What TraceLens says of a rank's devices (get_df_gpu_timeline), in its own arithmetic.
#ifndef GAIT_ANALYSE_COMPAT_TRACELENS_H
#define GAIT_ANALYSE_COMPAT_TRACELENS_H

#include "analyse/compat/foreign_rows.h"

// X(field): in ms
#define TRACELENS_FIELDS(X)                                                                        \
    X(computation_time)                                                                            \
    X(exposed_comm_time)                                                                           \
    X(exposed_memcpy_time)                                                                         \
    X(busy_time) X(idle_time) X(total_time) X(total_comm_time) X(total_memcpy_time)

enum tracelens_field {
#define X(field) TRACELENS_##field,
    TRACELENS_FIELDS(X)
#undef X
        TRACELENS_FIELD_COUNT
};

struct tracelens {
    bool has_events; // else it raises
    size_t dropped;  // device events that no arrow leads to
    double ms[TRACELENS_FIELD_COUNT];
};

GAIT_CHECK int tracelens_make(struct tracelens *made, const struct foreign_rows *rows);

#endif
