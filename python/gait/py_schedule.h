// SPDX-License-Identifier: Apache-2.0
// Counts steps while they happen, about as docs/TORCH.md does afterwards, and
// opens and closes windows in which ops are recorded.
#ifndef GAIT_PY_SCHEDULE_H
#define GAIT_PY_SCHEDULE_H

#include "py_compat.h"

#include <stdbool.h>
#include <stdint.h>

// The first phase of a training begins, and with it step 0.
void py_schedule_begin(void);

// A batch is about to be asked for.
void py_schedule_asked(void);

// An optimizer is about to step, and has.
void py_schedule_stepping(const PyObject *optimizer);
void py_schedule_stepped(const PyObject *optimizer);

// gait.step() begins a step: from the first one on only it counts.
void py_schedule_told(void);

// Functions of the module. windows(first, active, every, levels): ops are on record
// in steps [first, first + active) of each `every` (0: only once), with what `levels`
// of gait/torch.h adds; active 0 switches them off.
PyObject *py_schedule_windows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_schedule_close(PyObject *module, PyObject *unused);

// costs(): (ns a phase, ns a window) as measured in this process.
PyObject *py_schedule_costs(PyObject *module, PyObject *unused);

#endif
