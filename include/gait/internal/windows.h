// SPDX-License-Identifier: Apache-2.0
// The arbiter of windows as the Python package uses it: the run's schedule as a
// holder, a spare window, steps, and collectors whose work is done in Python.
// gait/torch.h has the rest.
#ifndef GAIT_INTERNAL_WINDOWS_H
#define GAIT_INTERNAL_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#include "../torch.h"

#ifdef __cplusplus
extern "C" {
#endif

// Levels beyond those of gait/torch.h, one for each collector besides torch.
enum gait_window_level {
    GAIT_WINDOW_PYTHON = 8,   // Python functions
    GAIT_WINDOW_NSIGHT = 16,  // Nsight Systems is told when to record, and of steps
    GAIT_WINDOW_DEVICES = 32, // what devices do, by torch's own recording
};

// The run's schedule holds the window under a number of its own. It may hold again
// without having left: then it wants the new levels.
#define GAIT_WINDOW_OF_RUN 1
GAIT_API GAIT_CHECK int gait_window_hold_for_run(unsigned levels);

// Another thread may be in a window's collectors meanwhile; a step is told to those
// that ask for steps. Costs one load where there are none.
GAIT_API void gait_window_step(int64_t number);

// A window for the case that a program never makes a step: the first one of a
// process, without levels of Python. It ends when somebody else holds a window, at
// the latest. How it ended is in the metadata of the shard, `spare_window`.
enum gait_spare_end {
    GAIT_SPARE_DROPPED, // steps are counted, or somebody else records
    GAIT_SPARE_KEPT,    // there was no step until the end
    GAIT_SPARE_STEPPED, // there was one
    GAIT_SPARE_CUT,     // there was too much in it
};
GAIT_API int gait_window_spare(unsigned levels); // 1: it is open now
GAIT_API int gait_window_has_spare(void);
GAIT_API void gait_window_end_spare(enum gait_spare_end end); // nothing where none is open

// CPU time that opening and closing took, of the threads that did it, a window; 0
// before the first one.
GAIT_API double gait_window_cost_ns(void);

// What does a collector's work in another language. Called without any lock of gait,
// by the thread that holds or leaves the window. `open` returns 0 if the collector is
// on now: then `close` follows. `step` may be NULL.
struct gait_collector_host {
    size_t size; // sizeof(struct gait_collector_host)
    int (*open)(void *context);
    void (*step)(void *context, int64_t number);
    void (*close)(void *context);
    void *context;
};
// For good: `host` is copied. GAIT_ERR_MISSING: no such collector, or it needs no host.
GAIT_API GAIT_CHECK int gait_collector_host(const char *name,
                                            const struct gait_collector_host *host);

// Puts on record what each collector's windows were, cost and lost: metadata
// `collectors`. Nothing where there was no window.
GAIT_API void gait_collectors_tell(void);

// Ends all windows and takes what collectors left in other libraries out of them. A
// window can be held again afterwards.
GAIT_API void gait_collectors_stop(void);

#ifdef __cplusplus
}
#endif
#endif
