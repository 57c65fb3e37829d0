// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/tb_rank.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyse/compat/tb_steps.h"
#include "base/fail.h"

// --- what a row is ---------------------------------------------------------------------

bool tb_is_collective(const char *name)
{
    static const char *const names[] = {"broadcast", "reduce", "all_reduce", "all_gather",
                                        "reduce_scatter"};
    if (!foreign_begins(name, "nccl:") && !foreign_begins(name, "gloo:"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name + 5, names[i]) == 0)
            return true;
    return false;
}

bool tb_is_loader(const char *name)
{
    static const char next[] = ".__next__";
    const size_t length = strlen(name);
    if (foreign_begins(name, "enumerate(DataPipe)#"))
        return true;
    return foreign_begins(name, "enumerate(DataLoader)#") && length >= sizeof next &&
           strcmp(name + length - sizeof next + 1, next) == 0;
}

enum tb_type tb_type_by(const char *category, const char *name)
{
    static const struct {
        const char *category;
        enum tb_type type;
    } types[] = {
        {"cpu_op", TB_OPERATOR},       {"operator", TB_OPERATOR},
        {"user_annotation", TB_RANGE}, {"gpu_user_annotation", TB_RANGE},
        {"kernel", TB_KERNEL},         {"gpu_memcpy", TB_MEMCPY},
        {"memcpy", TB_MEMCPY},         {"gpu_memset", TB_MEMSET},
        {"memset", TB_MEMSET},         {"runtime", TB_RUNTIME},
        {"python", TB_PYTHON},         {"trace", TB_ELSE},
        {"memory", TB_ELSE},           {"python_function", TB_ELSE},
    };
    enum tb_type type = TB_IGNORED;
    for (size_t i = 0; i < sizeof types / sizeof types[0] && !type; i++)
        if (strcasecmp(category, types[i].category) == 0)
            type = types[i].type;
    if ((type == TB_OPERATOR || type == TB_RANGE) && foreign_begins(name, "ProfilerStep#"))
        return TB_STEP;
    return type == TB_RANGE && !tb_is_collective(name) ? TB_IGNORED : type;
}

// --- collectives -----------------------------------------------------------------------

static int by_external(const void *left, const void *right)
{
    const struct tb_collective *a = left, *b = right;
    if (a->row->external != b->row->external)
        return a->row->external < b->row->external ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_start(const void *left, const void *right)
{
    const struct foreign_row *a = ((const struct tb_collective *)left)->row,
                             *b = ((const struct tb_collective *)right)->row;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

const struct tb_collective *tb_collective_of(const struct tb_rank *rank,
                                             const struct foreign_row *row)
{
    for (size_t i = 0; i < rank->collective_count; i++)
        if (rank->collectives[i].row->external == row->external)
            return &rank->collectives[i];
    return NULL;
}

// Of several with one external id the last one stands.
static int take_collectives(struct tb_rank *rank)
{
    const struct foreign_rows *foreign = rank->foreign;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < foreign->count; i++)
        count += foreign->rows[i].kind.is_tb_collective;
    rank->collectives = calloc(count + 1, sizeof *rank->collectives);
    if (!rank->collectives)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu collectives", count);
    for (size_t i = 0; i < foreign->count; i++) {
        const enum tb_type type = tb_type_of(&foreign->rows[i]);
        if ((type != TB_OPERATOR && type != TB_RANGE && type != TB_PYTHON) ||
            !foreign->rows[i].kind.is_tb_collective)
            continue;
        rank->collectives[rank->collective_count++] =
            (struct tb_collective){&foreign->rows[i], TB_NO_STEP};
        rank->has_nccl |= foreign_begins(foreign->rows[i].name, "nccl");
        rank->has_gloo |= foreign_begins(foreign->rows[i].name, "gloo");
    }
    if (!rank->collective_count)
        return GAIT_OK;
    qsort(rank->collectives, rank->collective_count, sizeof *rank->collectives, by_external);
    for (size_t i = 0; i < rank->collective_count; i++)
        if (i + 1 == rank->collective_count ||
            rank->collectives[i].row->external != rank->collectives[i + 1].row->external)
            rank->collectives[kept++] = rank->collectives[i];
    rank->collective_count = kept;
    return GAIT_OK;
}

// The steps that collectives lie in, each in turn as the plugin looks for them: from the
// first one on that lies in none, those behind are of none either, unless steps passed.
static void find_steps(struct tb_rank *rank)
{
    size_t step = 0;
    if (rank->collective_count)
        qsort(rank->collectives, rank->collective_count, sizeof *rank->collectives, by_start);
    for (size_t i = 0; i < rank->collective_count && step < rank->step_count; i++) {
        const struct foreign_row *row = rank->collectives[i].row;
        while (step < rank->step_count && row->start_ns >= rank->steps[step].end_ns)
            step++;
        if (step < rank->step_count && row->start_ns >= rank->steps[step].start_ns &&
            row->end_ns <= rank->steps[step].end_ns)
            rank->collectives[i].step = step;
    }
}

// --- roles -----------------------------------------------------------------------------

static enum tb_role role_of_row(const struct tb_rank *rank, const struct foreign_row *row,
                                enum tb_type type)
{
    switch (type) {
    case TB_KERNEL:
        return rank->collective_count && tb_collective_of(rank, row) ? TB_Communication : TB_Kernel;
    case TB_MEMCPY:
        return TB_Memcpy;
    case TB_MEMSET:
        return TB_Memset;
    case TB_RUNTIME:
        return TB_Runtime;
    case TB_OPERATOR:
    case TB_RANGE:
    case TB_PYTHON:
        if (type != TB_PYTHON && row->kind.is_loader)
            return TB_DataLoader;
        return row->kind.is_tb_collective ? TB_Communication : TB_CpuOp;
    default:
        return TB_Other;
    }
}

static int take_roles(struct tb_rank *rank)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < rank->foreign->count && !status; i++) {
        const struct foreign_row *row = &rank->foreign->rows[i];
        const enum tb_type type = tb_type_of(row);
        const enum tb_role role = role_of_row(rank, row, type);
        if (role != TB_Other)
            status = intervals_add(&rank->roles[role], row->start_ns, row->end_ns);
        const bool is_op = type == TB_OPERATOR || type == TB_PYTHON;
        rank->uses_ddp |= is_op && !strcmp(row->name, "DistributedDataParallel.forward");
        rank->uses_dp |= is_op && !strcmp(row->name, "DataParallel.forward");
    }
    for (unsigned role = 0; role < TB_Other; role++)
        intervals_join(&rank->roles[role]);
    return status;
}

int tb_rank_make(struct tb_rank *rank, const struct foreign_rows *foreign)
{
    *rank = (struct tb_rank){.foreign = foreign};
    int status = take_collectives(rank);
    if (!status)
        status = take_roles(rank);
    if (!status)
        status = tb_steps_find(rank);
    if (!status)
        status = tb_steps_measure(rank);
    if (!status)
        find_steps(rank);
    if (status)
        tb_rank_finish(rank);
    return status;
}

void tb_rank_finish(struct tb_rank *rank)
{
    for (unsigned role = 0; role < TB_Other; role++)
        intervals_finish(&rank->roles[role]);
    free(rank->steps);
    free(rank->collectives);
    *rank = (struct tb_rank){.foreign = NULL};
}
