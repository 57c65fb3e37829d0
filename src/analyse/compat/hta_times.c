// SPDX-License-Identifier: Apache-2.0
// A span within one microsecond has a length of -1 here, as there: it takes time away.
#include "analyse/compat/hta_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"

struct edge {
    int64_t at_us;
    int change;
};

struct merged {
    struct edge *edges; // two for each group of spans that touch
    size_t count;
    int64_t busy_us, first_us, last_us;
};

static const unsigned bits[] = {
    [HTA_COMPUTATION] = 1, [HTA_COMMUNICATION] = 2, [HTA_MEMORY] = 4, [HTA_OTHER] = 8};
enum { EVERY_KIND = 15 };

static void close_group(struct merged *merged, int64_t start_us, int64_t end_us, int value)
{
    merged->busy_us += end_us - start_us;
    merged->last_us = end_us;
    merged->edges[merged->count++] = (struct edge){start_us, value};
    merged->edges[merged->count++] = (struct edge){end_us, -value};
}

// Merges the device rows of those kinds; the edges have room for two a row.
static void merge(struct merged *merged, const struct hta_rank *rank, unsigned kinds, int value)
{
    int64_t start_us = 0, end_us = 0;
    bool is_open = false;
    merged->busy_us = 0;
    for (size_t i = 0; i < rank->device_count; i++) {
        const struct hta_row *row = &rank->device[i];
        if (!(kinds & bits[row->row->kind.hta_kind]))
            continue;
        if (is_open && row->start_us > end_us)
            close_group(merged, start_us, end_us, value);
        if (!is_open)
            merged->first_us = row->start_us;
        if (!is_open || row->start_us > end_us) {
            start_us = row->start_us;
            end_us = row->end_us;
        }
        end_us = row->end_us > end_us ? row->end_us : end_us;
        is_open = true;
    }
    if (is_open)
        close_group(merged, start_us, end_us, value);
}

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us ? -1 : 1;
    return (b->change > a->change) - (b->change < a->change); // what begins goes first
}

static int edges_take(struct merged *merged, const struct hta_rank *rank)
{
    *merged =
        (struct merged){.edges = malloc((rank->device_count * 6 + 1) * sizeof *merged->edges)};
    return merged->edges ? GAIT_OK
                         : fail(GAIT_ERR_MEMORY, "no memory for %zu rows", rank->device_count);
}

int hta_times_by_kind(int64_t *ret_us, bool *ret_met, const struct hta_rank *rank, bool with_memory)
{
    struct merged merged;
    int running = 0, status = edges_take(&merged, rank);
    if (status)
        return status;
    for (unsigned bit = 1; bit <= (with_memory ? 4u : 2u); bit *= 2)
        merge(&merged, rank, bit, (int)bit);
    qsort(merged.edges, merged.count, sizeof *merged.edges, by_time);
    for (size_t i = 0; i < merged.count; i++) {
        running += merged.edges[i].change;
        if (running <= 0 || running >= HTA_STATES)
            continue;
        if (i + 1 < merged.count) {
            ret_us[running] += merged.edges[i + 1].at_us - merged.edges[i].at_us;
            ret_met[running] = true;
        }
    }
    free(merged.edges);
    return GAIT_OK;
}

int hta_times_make(struct hta_times *times, const struct hta_rank *rank)
{
    int64_t by_kind[HTA_STATES] = {0}, communication_us;
    bool met[HTA_STATES] = {false};
    struct merged merged;
    *times = (struct hta_times){.overlap_share = NAN};
    int status = edges_take(&merged, rank);
    if (status)
        return status;
    merge(&merged, rank, EVERY_KIND, 1);
    times->has_device = rank->device_count > 0;
    times->kernel_us = merged.last_us - merged.first_us;
    times->idle_us = times->kernel_us - merged.busy_us;
    merged.count = 0;
    merge(&merged, rank, bits[HTA_COMPUTATION], 1);
    times->compute_us = merged.busy_us;
    times->non_compute_us = times->kernel_us - times->idle_us - times->compute_us;
    merged.count = 0;
    merge(&merged, rank, bits[HTA_COMMUNICATION], 1);
    communication_us = merged.count ? merged.busy_us : 0;
    free(merged.edges);
    status = hta_times_by_kind(by_kind, met, rank, false);
    if (communication_us)
        times->overlap_share = (double)by_kind[3] / (double)communication_us;
    return status;
}
