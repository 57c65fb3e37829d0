// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/tb_devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compat/tb_ops.h"
#include "base/fail.h"

// --- kernels by name -------------------------------------------------------------------

bool tb_uses_tensor_cores(const char *name)
{
    static const char *const patterns[] = {"h884",
                                           "s884",
                                           "h1688",
                                           "s1688",
                                           "hmma",
                                           "i8816",
                                           "16816",
                                           "dgrad_1x1_stride_2x2",
                                           "first_layer_wgrad_kernel",
                                           "conv1x1",
                                           "conv2d_c1_k1",
                                           "direct_group",
                                           "xmma_implicit_gemm",
                                           "xmma_sparse_conv",
                                           "xmma_warp_specialized_implicit_gemm",
                                           "xmma_gemm",
                                           "xmma_sparse_gemm",
                                           "c1688"};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (strstr(name, patterns[i]))
            return true;
    return false;
}

static int by_name(const void *left, const void *right)
{
    const struct foreign_row *a = *(const struct foreign_row *const *)left,
                             *b = *(const struct foreign_row *const *)right;
    return strcmp(a->name, b->name);
}

static int by_sum(const void *left, const void *right)
{
    const struct tb_kernel *a = left, *b = right;
    return a->sum_ns != b->sum_ns ? (a->sum_ns > b->sum_ns ? -1 : 1) : strcmp(a->name, b->name);
}

static double or_zero(double number)
{
    return isfinite(number) ? number : 0;
}

static struct tb_kernel add_up(const struct foreign_row *const *rows, size_t count)
{
    struct tb_kernel kernel = {.name = rows[0]->name,
                               .count = count,
                               .least_ns = UINT64_MAX,
                               .uses_tensor_cores = tb_uses_tensor_cores(rows[0]->name)};
    for (size_t i = 0; i < count; i++) {
        const uint64_t ns = (uint64_t)rows[i]->end_ns - (uint64_t)rows[i]->start_ns;
        kernel.sum_ns += ns;
        kernel.most_ns = ns > kernel.most_ns ? ns : kernel.most_ns;
        kernel.least_ns = ns < kernel.least_ns ? ns : kernel.least_ns;
        kernel.blocks += or_zero(rows[i]->reals[FOREIGN_BLOCKS]) * (double)ns;
        kernel.occupancy += or_zero(rows[i]->reals[FOREIGN_OCCUPANCY]) * (double)ns;
    }
    kernel.blocks = kernel.sum_ns ? kernel.blocks / (double)kernel.sum_ns : 0;
    kernel.occupancy = kernel.sum_ns ? kernel.occupancy / (double)kernel.sum_ns : 0;
    return kernel;
}

static void group_kernels(struct tb_devices *made, const struct foreign_row **rows, size_t count)
{
    if (count)
        qsort(rows, count, sizeof *rows, by_name);
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i + 1; behind < count && !by_name(&rows[i], &rows[behind]);)
            behind++;
        made->kernels[made->kernel_count++] = add_up(&rows[i], behind - i);
    }
    if (made->kernel_count)
        qsort(made->kernels, made->kernel_count, sizeof *made->kernels, by_sum);
}

// --- devices ---------------------------------------------------------------------------

struct edge {
    int64_t at_ns;
    double change;
};

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->change < 0) - (b->change < 0);
}

// Blocks that are there at a time fill each multiprocessor at most once.
static double sm_efficiency(struct edge *edges, size_t count, const struct interval *window)
{
    double blocks = 0, sum = 0;
    bool is_seen = false;
    if (count)
        qsort(edges, count, sizeof *edges, by_time);
    for (size_t i = 0; i + 1 < count; i++) {
        blocks += edges[i].change;
        const int64_t from = edges[i].at_ns > window->start_ns ? edges[i].at_ns : window->start_ns,
                      until =
                          edges[i + 1].at_ns < window->end_ns ? edges[i + 1].at_ns : window->end_ns;
        if (blocks <= 0 || from >= until)
            continue;
        sum += fmin(blocks, 1) * (double)(until - from);
        is_seen = true;
    }
    return is_seen ? sum / (double)(window->end_ns - window->start_ns) : NAN;
}

static int measure_device(struct tb_device *device, const struct foreign_row *const *rows,
                          size_t count, const struct interval *window)
{
    struct intervals busy = {.count = 0};
    struct edge *edges = malloc((2 * count + 1) * sizeof *edges);
    size_t edge_count = 0;
    double occupied = 0, time = 0;
    int status = edges ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu kernels", count);
    for (size_t i = 0; i < count && !status; i++) {
        const struct foreign_row *row = rows[i];
        if (row->device != device->device)
            continue;
        status = intervals_add(&busy, row->start_ns, row->end_ns);
        if (row->reals[FOREIGN_BLOCKS] > 0) {
            edges[edge_count++] = (struct edge){row->start_ns, row->reals[FOREIGN_BLOCKS]};
            edges[edge_count++] = (struct edge){row->end_ns, -row->reals[FOREIGN_BLOCKS]};
        }
        const int64_t from = row->start_ns > window->start_ns ? row->start_ns : window->start_ns,
                      until = row->end_ns < window->end_ns ? row->end_ns : window->end_ns;
        if (row->reals[FOREIGN_OCCUPANCY] >= 0 && from < until) {
            occupied += row->reals[FOREIGN_OCCUPANCY] * (double)(until - from);
            time += (double)(until - from);
        }
    }
    intervals_join(&busy);
    intervals_cut(&busy, window->start_ns, window->end_ns);
    device->utilisation =
        (double)intervals_total(&busy) / (double)(window->end_ns - window->start_ns);
    device->sm_efficiency = status ? NAN : sm_efficiency(edges, edge_count, window);
    device->occupancy = time > 0 ? occupied / time : NAN;
    intervals_finish(&busy);
    free(edges);
    return status;
}

static int by_number(const void *left, const void *right)
{
    const struct tb_device *a = left, *b = right;
    return a->device < b->device ? -1 : a->device > b->device;
}

static int take_devices(struct tb_devices *made, const struct foreign_row *const *rows,
                        size_t count, const struct tb_rank *rank)
{
    enum { MOST_DEVICES = 64 };
    int status = GAIT_OK;
    made->devices = calloc(MOST_DEVICES, sizeof *made->devices);
    if (!made->devices)
        return fail(GAIT_ERR_MEMORY, "no memory for the devices");
    if (!rank->step_count)
        return GAIT_OK;
    for (size_t i = 0, at; i < count && made->count < MOST_DEVICES; i++) {
        for (at = 0; at < made->count && made->devices[at].device != rows[i]->device;)
            at++;
        if (at == made->count && rows[i]->device != FOREIGN_NONE)
            made->devices[made->count++].device = rows[i]->device;
    }
    const struct interval window = {rank->steps[0].start_ns,
                                    rank->steps[rank->step_count - 1].end_ns};
    qsort(made->devices, made->count, sizeof *made->devices, by_number);
    for (size_t i = 0; i < made->count && !status; i++)
        status = measure_device(&made->devices[i], rows, count, &window);
    return status;
}

int tb_devices_make(struct tb_devices *made, const struct tb_rank *rank)
{
    const struct foreign_rows *foreign = rank->foreign;
    const struct foreign_row **rows = malloc((foreign->count + 1) * sizeof *rows);
    size_t count = 0;
    *made = (struct tb_devices){.kernels = malloc((foreign->count + 1) * sizeof *made->kernels)};
    int status = rows && made->kernels
                     ? GAIT_OK
                     : fail(GAIT_ERR_MEMORY, "no memory for %zu kernels", foreign->count);
    for (size_t i = 0; i < foreign->count && !status; i++)
        if (tb_type_of(&foreign->rows[i]) == TB_KERNEL)
            rows[count++] = &foreign->rows[i];
    if (!status)
        status = take_devices(made, rows, count, rank);
    if (!status)
        group_kernels(made, rows, count);
    free(rows);
    if (status)
        tb_devices_finish(made);
    return status;
}

void tb_devices_finish(struct tb_devices *devices)
{
    free(devices->devices);
    free(devices->kernels);
    *devices = (struct tb_devices){.devices = NULL};
}
