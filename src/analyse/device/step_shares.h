// SPDX-License-Identifier: Apache-2.0
// Where each step of a rank went, by priority: what a kernel runs under is a kernel's time,
// of the rest what a copy runs under is a copy's, and so on. The parts sum to the step.
#ifndef GAIT_ANALYSE_STEP_SHARES_H
#define GAIT_ANALYSE_STEP_SHARES_H

#include "analyse/compat/foreign_rows.h"
#include "analyse/device/recorded_steps.h"

// X(identifier, "key"), the first that lasts has the time; OTHER is what none has.
#define STEP_SHARES(X)                                                                             \
    X(KERNEL, "kernel_ns")                                                                         \
    X(COPY, "memcpy_ns")                                                                           \
    X(SET, "memset_ns")                                                                            \
    X(COLLECTIVE, "communication_ns")                                                              \
    X(RUNTIME, "runtime_ns") X(LOADER, "dataloader_ns") X(OP, "cpu_op_ns") X(OTHER, "other_ns")

enum step_share {
#define X(identifier, key) STEP_SHARE_##identifier,
    STEP_SHARES(X)
#undef X
        STEP_SHARE_COUNT
};

struct step_shares_row {
    const char *name;
    int64_t start_ns, end_ns;
    uint64_t ns[STEP_SHARE_COUNT];
};

struct step_shares_device {
    int64_t device;
    double utilisation, sm_efficiency, occupancy; // of the time of the steps; NAN: not told
};

struct step_shares {
    int64_t rank;
    struct step_shares_row *rows; // in order of start
    size_t count;
    struct step_shares_device *devices;
    size_t device_count;
};

// Of one shard.
GAIT_CHECK int step_shares_make(struct step_shares *shares, struct gait_trace *trace,
                                uint32_t shard, const struct recorded_steps *recorded);
void step_shares_finish(struct step_shares *shares); // takes a zeroed struct

#endif
