// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/itwinai.h"

#include <math.h>
#include <string.h>

#include "analyse/compat/keyed_rows.h"
#include "vocabulary/roles.h"

static bool contains_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

bool itwinai_is_communication(const char *name)
{
    static const char *const ops[] = {"all_reduce", "broadcast",      "reduce", "all_gather",
                                      "gather",     "reduce_scatter", NULL};
    static const char *const waits[] = {"cudaStreamWaitEvent", "cudaStreamSynchronize", NULL};
    const char *nccl = strstr(name, "nccl:");
    if (contains_one(name, waits))
        return true;
    for (const char *const *op = ops; nccl && *op; op++)
        if (strncmp(nccl + 5, *op, strlen(*op)) == 0)
            return true;
    return false;
}

bool itwinai_is_computation(const char *name)
{
    static const char *const words[] = {"aten::", " at::", "c10::", "autograd::", NULL};
    return contains_one(name, words);
}

static void add(struct itwinai *sums, const char *name, uint64_t ns)
{
    if (strncmp(name, "ProfilerStep", 12) != 0)
        sums->total_ns += ns;
    if (itwinai_is_computation(name))
        sums->computation_ns += ns;
    if (itwinai_is_communication(name))
        sums->communication_ns += ns;
}

static bool is_op(const struct foreign_row *row)
{
    return row->external > 0 && (row->kind.role == ROLE_OP || row->kind.role == ROLE_ANNOTATION ||
                                 row->kind.role == ROLE_STEP);
}

int itwinai_add(struct itwinai *sums, const struct foreign_rows *rows)
{
    struct keyed_rows ops; // by external id
    int status = keyed_rows_init(&ops, rows->count);
    for (size_t i = 0; i < rows->count && !status; i++)
        if (is_op(&rows->rows[i]))
            keyed_rows_add(&ops, rows->rows[i].external, i);
    keyed_rows_sort(&ops);
    for (size_t i = 0; i < rows->count && !status; i++) {
        const struct foreign_row *row = &rows->rows[i];
        const bool is_work = role_is_device_work((enum role)row->kind.role);
        const uint64_t ns = (uint64_t)row->end_ns - (uint64_t)row->start_ns;
        if (is_work || row->kind.role == ROLE_DEVICE_ANNOTATION)
            add(sums, row->name, ns);
        // the first op of that number is the one around the others
        const size_t op = is_work ? keyed_rows_find(&ops, row->external) : KEYED_NONE;
        if (op != KEYED_NONE)
            add(sums, rows->rows[op].name, ns);
    }
    keyed_rows_finish(&ops);
    return status;
}

double itwinai_fraction(const struct itwinai *sums)
{
    return (double)sums->computation_ns / 1000 / ((double)sums->total_ns / 1000 + 1e-10);
}

double itwinai_fraction_of_both(const struct itwinai *sums)
{
    const uint64_t both = sums->computation_ns + sums->communication_ns;
    return both ? (double)sums->computation_ns / (double)both : NAN;
}
