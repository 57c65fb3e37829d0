// SPDX-License-Identifier: Apache-2.0
// What a set of devices did, moment by moment, and why it did nothing. Time passes with the
// rows; sums of stretches are differences of the sum so far:
//
//     device_sweep_until(&sweep, at_ns)          time passes
//     device_sweep_add(&sweep, &work)            a row of a device begins now
//     device_sweep_begin(&sweep, &step)          a stretch begins now, or ends
//     device_sweep_end(&sweep, &step)
//
// Why nothing runs is known only when the next work comes; what began or ended meanwhile is
// filled in then, or by device_sweep_finish().
#ifndef GAIT_ANALYSE_DEVICE_SWEEP_H
#define GAIT_ANALYSE_DEVICE_SWEEP_H

#include "analyse/device/breakdown.h"
#include "facts/launches.h"
#include "facts/sweep.h"

struct device_work {
    int64_t start_ns, end_ns;
    enum device_lane lane;
    const struct launch *launch; // NULL: not on record
};

struct device_mark { // in the idle time at hand
    int64_t at_ns;
    struct breakdown *sums; // NULL: the sweep's own `whole`
    enum { MARK_BEGIN, MARK_END, MARK_LAST } kind;
    uint32_t window; // of MARK_LAST
};

struct device_last { // where a window ends, as far as is known
    struct breakdown sums;
    size_t mark; // + 1, as long as it waits
};

struct device_sweep {
    struct sweep sweep;
    struct breakdown sums;  // of all time so far, without the causes of the idle time at hand
    struct breakdown whole; // of the windows; true at the end
    bool has_work, is_idle;
    bool is_first; // nothing was done before the idle time at hand
    int64_t idle_from_ns;
    bool is_counted; // as drained
    bool is_drained; // the idle time at hand began when the host had waited for the devices,
    int64_t wait_from_ns, wait_until_ns; // as it did then
    bool is_closing; // the work that ends the idle time is known: the shortest of what begins
    struct device_work closing;
    int64_t launched_ns; // of that work; valid with `closing.launch`
    struct device_mark *marks;
    size_t mark_count, mark_capacity;
    struct device_last *lasts; // of the windows
    size_t window_count, window_capacity;
};

void device_sweep_init(struct device_sweep *sweep);
void device_sweep_free(struct device_sweep *sweep); // takes a zeroed struct

// A sweep that stands where another one does, without the stretches that began in it.
GAIT_CHECK int device_sweep_copy(struct device_sweep *sweep, const struct device_sweep *from);

void device_sweep_until(struct device_sweep *sweep, int64_t at_ns);
void device_sweep_add(struct device_sweep *sweep, const struct device_work *work);
void device_sweep_wait(struct device_sweep *sweep, enum device_wait wait, int64_t end_ns);

// `sums` must stay where they are until the end.
GAIT_CHECK int device_sweep_begin(struct device_sweep *sweep, struct breakdown *sums);
GAIT_CHECK int device_sweep_end(struct device_sweep *sweep, struct breakdown *sums);

// A window begins now; it is one more. It ends now, unless more is said of it later.
GAIT_CHECK int device_sweep_open(struct device_sweep *sweep);
GAIT_CHECK int device_sweep_last(struct device_sweep *sweep, uint32_t window);

void device_sweep_finish(struct device_sweep *sweep);

#endif
