// SPDX-License-Identifier: Apache-2.0
// A rank as TensorBoard's plugin (torch-tb-profiler) reads it: its own classes of rows, its
// steps, and the time of each by priority. The plugin knows the categories of 2021.
#ifndef GAIT_ANALYSE_COMPAT_TB_RANK_H
#define GAIT_ANALYSE_COMPAT_TB_RANK_H

#include "analyse/compat/foreign_rows.h"
#include "analyse/time/intervals.h"

// In the order in which each takes its time from those behind it.
#define TB_ROLES(X)                                                                                \
    X(Kernel) X(Memcpy) X(Memset) X(Communication) X(Runtime) X(DataLoader) X(CpuOp) X(Other)

enum tb_role {
#define X(role) TB_##role,
    TB_ROLES(X)
#undef X
        TB_ROLE_COUNT
};

// What a row is to it.
enum tb_type {
    TB_IGNORED,
    TB_STEP,
    TB_OPERATOR,
    TB_PYTHON,
    TB_RANGE, // an annotation of a collective
    TB_RUNTIME,
    TB_KERNEL,
    TB_MEMCPY,
    TB_MEMSET,
    TB_ELSE,
};
enum tb_type tb_type_by(const char *category, const char *name);

static inline enum tb_type tb_type_of(const struct foreign_row *row)
{
    return (enum tb_type)row->kind.tb_type;
}

bool tb_is_collective(const char *name);
bool tb_is_loader(const char *name);

struct tb_step {
    int64_t start_ns, end_ns, number;
    uint64_t role_ns[TB_ROLE_COUNT]; // they sum to the step
    uint64_t computation_ns, communication_ns, overlap_ns;
};

// One collective of the host: its range, and those of kernels with its external id.
struct tb_collective {
    const struct foreign_row *row;
    size_t step; // its row; TB_NO_STEP: none
};
#define TB_NO_STEP SIZE_MAX

struct tb_rank {
    const struct foreign_rows *foreign;
    struct intervals roles[TB_Other]; // merged
    struct tb_step *steps;
    size_t step_count;
    struct tb_collective *collectives; // by start, then the longer first
    size_t collective_count;
    bool has_nccl, has_gloo, uses_ddp, uses_dp;
};

GAIT_CHECK int tb_rank_make(struct tb_rank *rank, const struct foreign_rows *foreign);
void tb_rank_finish(struct tb_rank *rank); // takes a zeroed struct

// The collective that a row's external id belongs to, or NULL.
const struct tb_collective *tb_collective_of(const struct tb_rank *rank,
                                             const struct foreign_row *row);

#endif
