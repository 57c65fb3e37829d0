// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/itwinai.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
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

static int by_external(const void *left, const void *right)
{
    const struct foreign_row *a = *(const struct foreign_row *const *)left,
                             *b = *(const struct foreign_row *const *)right;
    if (a->external != b->external)
        return a->external < b->external ? -1 : 1;
    return a < b ? -1 : a > b;
}

// The host's row with that number: the first, which is the one around the others.
static const struct foreign_row *op_of(const struct foreign_row *const *ops, size_t count,
                                       int64_t external)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ops[middle]->external < external)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ops[low]->external == external ? ops[low] : NULL;
}

static bool is_op(const struct foreign_row *row)
{
    return row->external > 0 && (row->kind.role == ROLE_OP || row->kind.role == ROLE_ANNOTATION ||
                                 row->kind.role == ROLE_STEP);
}

int itwinai_add(struct itwinai *sums, const struct foreign_rows *rows)
{
    const struct foreign_row **ops = malloc((rows->count + 1) * sizeof *ops);
    size_t count = 0;
    if (!ops)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu operators", rows->count);
    for (size_t i = 0; i < rows->count; i++)
        if (is_op(&rows->rows[i]))
            ops[count++] = &rows->rows[i];
    if (count)
        qsort(ops, count, sizeof *ops, by_external);
    for (size_t i = 0; i < rows->count; i++) {
        const struct foreign_row *row = &rows->rows[i], *op;
        const bool is_work = role_is_device_work((enum role)row->kind.role);
        const uint64_t ns = (uint64_t)row->end_ns - (uint64_t)row->start_ns;
        if (is_work || row->kind.role == ROLE_DEVICE_ANNOTATION)
            add(sums, row->name, ns);
        op = is_work ? op_of(ops, count, row->external) : NULL;
        if (op)
            add(sums, op->name, ns);
    }
    free(ops);
    return GAIT_OK;
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
