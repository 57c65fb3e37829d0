// SPDX-License-Identifier: Apache-2.0
// A row is a dozen bytes: each number is the difference to that of the row before.
#include "ingest/row_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define WINDOW ((size_t)2048)
#define MOST_BYTES ((size_t)1 << 40)
#define MOST_RUNS ((size_t)1 << 28)
#define MOST_ROW_BYTES (10 * (6 + BLANK_COUNT) + 1)

void row_runs_init(struct row_runs *runs)
{
    *runs = (struct row_runs){.count = 0};
    buffer_init(&runs->packed, MOST_BYTES);
}

void row_runs_finish(struct row_runs *runs)
{
    buffer_finish(&runs->packed);
    free(runs->window);
    free(runs->runs);
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

// The difference, small whatever its sign.
static uint8_t *put_step(uint8_t *at, uint64_t value, uint64_t before)
{
    const uint64_t step = value - before;
    return put(at, step << 1 ^ -(step >> 63));
}

static const uint8_t *take(const uint8_t *at, uint64_t *ret_value)
{
    uint64_t value = *at & 0x7f;
    for (unsigned shift = 7; *at++ & 0x80; shift += 7)
        value |= (uint64_t)(*at & 0x7f) << shift;
    *ret_value = value;
    return at;
}

static const uint8_t *take_step(const uint8_t *at, uint64_t *value)
{
    uint64_t step;
    at = take(at, &step);
    *value += step >> 1 ^ -(step & 1);
    return at;
}

static int begin_run(struct row_runs *runs)
{
    const struct array_shape shape = {sizeof *runs->runs, MOST_RUNS};
    const int status =
        array_reserve((void **)&runs->runs, &runs->run_room, runs->run_count + 1, shape);
    if (status)
        return status;
    runs->runs[runs->run_count++] = (struct row_run){runs->packed.used, runs->packed.used};
    runs->before = (struct row){.start = 0};
    return 0;
}

static int pack(struct row_runs *runs, const struct row *row)
{
    struct row *before = &runs->before;
    if (!runs->run_count || row_is_before(row, before)) {
        const int status = begin_run(runs);
        if (status)
            return status;
    }
    uint8_t *const begin = buffer_reserve(&runs->packed, MOST_ROW_BYTES);
    if (!begin)
        return fail(GAIT_ERR_MEMORY, "no memory for %llu events", (unsigned long long)runs->count);
    uint8_t *at = put_step(begin, (uint64_t)row->start, (uint64_t)before->start);
    at = put(at, row->duration);
    at = put_step(at, row->id, before->id);
    at = put(at, (uint64_t)row->site << 2 | row->phase);
    at = put(at, row->form.form);
    for (unsigned mask = row->form.mask; mask; mask &= mask - 1) {
        const unsigned blank = (unsigned)__builtin_ctz(mask);
        at = put_step(at, row->form.values[blank], before->form.values[blank]);
        before->form.values[blank] = row->form.values[blank];
    }
    before->start = row->start;
    before->duration = row->duration;
    before->id = row->id;
    runs->packed.used += (size_t)(at - begin);
    runs->runs[runs->run_count - 1].end = runs->packed.used;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (row_is_before(a, b))
        return -1;
    if (row_is_before(b, a))
        return 1;
    return a < b ? -1 : 1; // good enough: equal rows are as good in either order
}

static void sort_window(struct row_runs *runs)
{
    for (size_t i = 1; i < runs->window_count; i++) {
        if (!row_is_before(&runs->window[i], &runs->window[i - 1]))
            continue;
        qsort(runs->window, runs->window_count, sizeof *runs->window, compare);
        return;
    }
}

static int pack_window(struct row_runs *runs, size_t count)
{
    sort_window(runs);
    for (size_t i = 0; i < count; i++) {
        const int status = pack(runs, &runs->window[i]);
        if (status)
            return status;
    }
    runs->window_count -= count;
    memmove(runs->window, runs->window + count, runs->window_count * sizeof *runs->window);
    return 0;
}

int row_runs_add(struct row_runs *runs, const struct row *row)
{
    const struct array_shape shape = {sizeof *runs->window, WINDOW};
    int status = 0;
    if (runs->window_count == WINDOW)
        status = pack_window(runs, WINDOW / 2);
    if (!status)
        status = array_reserve((void **)&runs->window, &runs->window_room, runs->window_count + 1,
                               shape);
    if (status)
        return status;
    runs->window[runs->window_count++] = *row;
    runs->count++;
    return 0;
}

int row_runs_settle(struct row_runs *runs)
{
    const int status = runs->window_count ? pack_window(runs, runs->window_count) : 0;
    free(runs->window);
    runs->window = NULL;
    runs->window_room = 0;
    return status;
}

void row_reading_begin(struct row_reading *reading, const struct row_runs *runs, size_t run,
                       const struct form_table *forms)
{
    *reading = (struct row_reading){.at = runs->packed.bytes + runs->runs[run].begin,
                                    .end = runs->packed.bytes + runs->runs[run].end,
                                    .forms = forms};
}

bool row_reading_next(struct row_reading *reading)
{
    struct row *row = &reading->row;
    uint64_t start = (uint64_t)row->start, site, form;
    if (reading->at == reading->end)
        return false;
    const uint8_t *at = take_step(reading->at, &start);
    at = take(at, &row->duration);
    at = take_step(at, &row->id);
    at = take(at, &site);
    at = take(at, &form);
    row->start = (int64_t)start;
    row->site = (uint32_t)(site >> 2);
    row->phase = site & 3;
    row->form.form = (uint32_t)form;
    row->form.mask = form ? reading->forms->forms[form - 1].mask : 0;
    for (unsigned mask = row->form.mask; mask; mask &= mask - 1)
        at = take_step(at, &row->form.values[__builtin_ctz(mask)]);
    reading->at = at;
    return true;
}
