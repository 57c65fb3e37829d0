// SPDX-License-Identifier: Apache-2.0
// A row is a dozen bytes: each number is the difference to that of the row before.
#define _GNU_SOURCE
#include "ingest/row_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fail.h"

#define WINDOW ((size_t)2048)
#define MOST_BYTES ((size_t)1 << 40)
#define MOST_RUNS ((size_t)1 << 28)
#define MOST_HELD ((size_t)24 << 20)   // in memory, before any lane spills
#define SPILL_BYTES ((size_t)64 << 10) // so much at a time
#define READ_BYTES ((size_t)16 << 10)  // of a run
#define MOST_EXTENTS ((size_t)1 << 26)
#define MOST_ROW_BYTES (10 * (6 + BLANK_COUNT) + 1)

void row_spill_finish(struct row_spill *spill)
{
    if (spill->fd >= 0)
        close(spill->fd);
    spill->fd = -1;
}

void row_runs_init(struct row_runs *runs, struct row_spill *spill)
{
    *runs = (struct row_runs){.spill = spill};
    buffer_init(&runs->packed, MOST_BYTES);
}

void row_runs_finish(struct row_runs *runs)
{
    buffer_finish(&runs->packed);
    free(runs->window);
    free(runs->runs);
    free(runs->extents);
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
    const int status = ARRAY_RESERVE(runs->runs, runs->run_room, runs->run_count + 1, MOST_RUNS);
    if (status)
        return status;
    const uint64_t at = runs->base + runs->packed.used;
    runs->runs[runs->run_count++] = (struct row_run){at, at};
    runs->before = (struct row){.start = 0};
    return 0;
}

static bool is_too_much(const struct row_runs *runs)
{
    return runs->packed.used >= SPILL_BYTES && runs->spill && runs->spill->held > MOST_HELD &&
           runs->spill->fd != -2;
}

// A file in $TMPDIR that is gone when it is closed; where none can be had, memory has to do.
static bool open_spill(struct row_spill *spill)
{
    const char *place = getenv("TMPDIR");
    if (spill->fd == -1)
        spill->fd =
            open(place && *place ? place : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spill->fd < 0)
        spill->fd = -2;
    return spill->fd >= 0;
}

static bool write_spill(const struct row_spill *spill, const struct buffer *packed)
{
    for (size_t done = 0; done < packed->used;) {
        const ssize_t put = pwrite(spill->fd, packed->bytes + done, packed->used - done,
                                   (off_t)(spill->bytes + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

static int spill(struct row_runs *runs)
{
    struct row_spill *file = runs->spill;
    struct buffer *packed = &runs->packed;
    const int status =
        ARRAY_RESERVE(runs->extents, runs->extent_room, runs->extent_count + 1, MOST_EXTENTS);
    if (status)
        return status;
    if (!open_spill(file) || !write_spill(file, packed)) {
        file->held = 0; // tried again when there is as much once more
        return 0;
    }
    runs->extents[runs->extent_count++] =
        (struct row_extent){runs->base, file->bytes, packed->used};
    file->bytes += packed->used;
    file->held -= packed->used < file->held ? packed->used : file->held;
    runs->base += packed->used;
    packed->used = 0;
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
    runs->runs[runs->run_count - 1].end = runs->base + runs->packed.used;
    if (runs->spill)
        runs->spill->held += (size_t)(at - begin);
    return is_too_much(runs) ? spill(runs) : 0;
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
    int status = 0;
    if (runs->window_count == WINDOW)
        status = pack_window(runs, WINDOW / 2);
    if (!status)
        status = ARRAY_RESERVE(runs->window, runs->window_room, runs->window_count + 1, WINDOW);
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
    const struct row_run *which = &runs->runs[run];
    *reading = (struct row_reading){
        .runs = runs, .forms = forms, .next = which->begin, .stop = which->end};
    if (which->begin < runs->base)
        return;
    reading->at = runs->packed.bytes + (which->begin - runs->base);
    reading->end = runs->packed.bytes + (which->end - runs->base);
    reading->next = which->end;
}

void row_reading_end(struct row_reading *reading)
{
    free(reading->room);
    reading->room = NULL;
}

// Up to `room` bytes from `next` on, from its extent or from memory.
static int read_part(struct row_reading *reading, uint8_t *out, size_t room, size_t *ret_count)
{
    const struct row_runs *runs = reading->runs;
    while (reading->extent < runs->extent_count &&
           reading->next >=
               runs->extents[reading->extent].begin + runs->extents[reading->extent].bytes)
        reading->extent++;
    uint64_t left = reading->stop - reading->next;
    if (reading->next >= runs->base) {
        *ret_count = left < room ? (size_t)left : room;
        memcpy(out, runs->packed.bytes + (reading->next - runs->base), *ret_count);
        return 0;
    }
    const struct row_extent *extent = &runs->extents[reading->extent];
    const uint64_t within = reading->next - extent->begin;
    left = left < extent->bytes - within ? left : extent->bytes - within;
    const ssize_t got = pread(runs->spill->fd, out, left < room ? (size_t)left : room,
                              (off_t)(extent->offset + within));
    if (got <= 0)
        return fail(GAIT_ERR_IO, "cannot read what was set aside: %s", strerror(errno));
    *ret_count = (size_t)got;
    return 0;
}

static int refill(struct row_reading *reading)
{
    size_t kept = (size_t)(reading->end - reading->at), count = 0;
    if (!reading->room)
        reading->room = malloc(READ_BYTES);
    if (!reading->room)
        return fail(GAIT_ERR_MEMORY, "no memory to put events in order");
    if (kept)
        memmove(reading->room, reading->at, kept);
    while (kept < READ_BYTES && reading->next < reading->stop) {
        const int status = read_part(reading, reading->room + kept, READ_BYTES - kept, &count);
        if (status)
            return status;
        reading->next += count;
        kept += count;
    }
    reading->at = reading->room;
    reading->end = reading->room + kept;
    return 0;
}

int row_reading_next(struct row_reading *reading)
{
    struct row *row = &reading->row;
    uint64_t start = (uint64_t)row->start, site, form;
    if (reading->next < reading->stop && reading->end - reading->at < MOST_ROW_BYTES) {
        const int status = refill(reading);
        if (status)
            return status;
    }
    if (reading->at == reading->end)
        return 0;
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
    return 1;
}
