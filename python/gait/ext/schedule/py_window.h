// SPDX-License-Identifier: Apache-2.0
// The window in which ops are recorded, held by any number of people at once: the
// run's schedule, and each capture that is open. All of it runs with the GIL held.
#ifndef GAIT_PY_WINDOW_H
#define GAIT_PY_WINDOW_H

#include "core/py_compat.h"

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_OF_RUN, WINDOW_SPARE, WINDOW_HOLDERS = 32 };

// More levels than gait/internal/torch_binding.h has: Python functions, and what Nsight Systems is
// told, for as long as it is open.
#define WINDOW_STACKS 8u
#define WINDOW_NSIGHT 16u
#define WINDOW_IN_PYTHON (WINDOW_STACKS | WINDOW_NSIGHT)

// Opens it, or opens it anew where `levels` of gait/internal/torch_binding.h want more than there
// is. False if it could not be: gait is off, or knows no torch.
bool py_window_hold(unsigned holder, unsigned levels);

// Closes it where nobody else holds it.
void py_window_leave(unsigned holder);

// A step begins while it is open.
void py_window_step(int64_t number);

// A window for the case that a program never makes a step: the first one of a process,
// dropped when the schedule moves on or somebody else records. What became of it is in
// the metadata of the shard: `spare_window` is "dropped", or else "kept" (there was no
// step until the end), "stepped" (there was one) or "cut" (there was too much in it).
bool py_window_spare(unsigned levels);
void py_window_drop_spare(void);
void py_window_keep_spare(const char *json);
bool py_window_has_spare(void);

// Of this thread alone: what others do meanwhile is no cost of ours.
struct py_usage {
    uint64_t cpu_ns, waits; // waits: times it gave up the processor itself
};
struct py_usage py_window_usage(void);

// What opening and closing took, of this thread alone; 0 before the first.
double py_window_cost_ns(void);

// _window_hold(levels) gives a number for _window_leave(number), or None.
PyObject *py_window_hold_new(PyObject *module, PyObject *levels);
PyObject *py_window_leave_it(PyObject *module, PyObject *number);

#endif
