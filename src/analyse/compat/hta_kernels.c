// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/hta_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compat/stats.h"
#include "base/fail.h"

struct named {
    const char *name;
    int64_t us;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct named *)left)->name, ((const struct named *)right)->name);
}

static int by_kernel_name(const void *left, const void *right)
{
    return strcmp(((const struct hta_kernel *)left)->name,
                  ((const struct hta_kernel *)right)->name);
}

static int by_sum(const void *left, const void *right)
{
    const struct hta_kernel *a = left, *b = right;
    return a->sum_us != b->sum_us ? (a->sum_us > b->sum_us ? -1 : 1) : strcmp(a->name, b->name);
}

// Rows of one name, one behind the other, become one.
static struct hta_kernel add_up(const struct named *rows, size_t count)
{
    struct hta_kernel kernel = {rows[0].name, 0, INT64_MAX, INT64_MIN, 0, 0};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        kernel.sum_us += rows[i].us;
        kernel.least_us = rows[i].us < kernel.least_us ? rows[i].us : kernel.least_us;
        kernel.most_us = rows[i].us > kernel.most_us ? rows[i].us : kernel.most_us;
    }
    kernel.mean_us = (double)kernel.sum_us / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)rows[i].us - kernel.mean_us) * ((double)rows[i].us - kernel.mean_us);
    kernel.deviation_us = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    return kernel;
}

static void group(struct hta_kernels *kernels, struct named *rows, size_t count)
{
    kernels->count = 0;
    if (count)
        qsort(rows, count, sizeof *rows, by_name);
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i + 1; behind < count && !by_name(&rows[i], &rows[behind]);)
            behind++;
        kernels->rows[kernels->count++] = add_up(&rows[i], behind - i);
    }
}

// The names that take most stay, the others become one; then all are sums of sums: each
// with itself as its mean.
static int put_others_together(struct hta_kernels *kernels, const struct hta_wish *wish,
                               struct named *room)
{
    double *sums = malloc(kernels->count * sizeof *sums), sum = 0;
    if (!sums)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu names", kernels->count);
    qsort(kernels->rows, kernels->count, sizeof *kernels->rows, by_sum);
    for (size_t i = 0; i < kernels->count; i++)
        sums[i] = sum += (double)kernels->rows[i].sum_us;
    const double most = stats_quantile(sums, kernels->count, wish->share);
    for (size_t i = 0; i < kernels->count; i++)
        room[i] =
            (struct named){sums[i] > most || i >= wish->most ? "others" : kernels->rows[i].name,
                           kernels->rows[i].sum_us};
    free(sums);
    group(kernels, room, kernels->count);
    return GAIT_OK;
}

int hta_kernels_make(struct hta_kernels *kernels, const struct hta_rank *rank,
                     const struct hta_wish *wish)
{
    struct named *rows = malloc((rank->count + 1) * sizeof *rows);
    size_t count = 0;
    int status = GAIT_OK;
    *kernels = (struct hta_kernels){malloc((rank->count + 1) * sizeof *kernels->rows), 0};
    if (!rows || !kernels->rows)
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu rows", rank->count);
    for (size_t i = 0; i < rank->count && !status; i++) {
        const struct foreign_row *row = rank->rows[i].row;
        if (wish->category ? strcmp(row->category, wish->category) == 0
                           : row->stream != FOREIGN_NONE && row->kind.hta_kind == wish->kind)
            rows[count++] =
                (struct named){row->name, rank->rows[i].end_us - rank->rows[i].start_us};
    }
    if (!status)
        group(kernels, rows, count);
    if (!status && kernels->count > wish->most)
        status = put_others_together(kernels, wish, rows);
    if (!status && kernels->count)
        qsort(kernels->rows, kernels->count, sizeof *kernels->rows, by_kernel_name);
    free(rows);
    if (status)
        hta_kernels_finish(kernels);
    return status;
}

void hta_kernels_finish(struct hta_kernels *kernels)
{
    free(kernels->rows);
    *kernels = (struct hta_kernels){.rows = NULL};
}
