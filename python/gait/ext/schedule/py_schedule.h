// SPDX-License-Identifier: Apache-2.0
// Counts steps while they happen, about as docs/TORCH.md does afterwards, and
// opens and closes windows in which ops are recorded.
#ifndef GAIT_PY_SCHEDULE_H
#define GAIT_PY_SCHEDULE_H

#include "core/py_compat.h"

#include <stdbool.h>
#include <stdint.h>

// The first phase of a training begins, and with it step 0.
void py_schedule_begin(void);

// An iterator of a loader is about to be made, and was; NULL: it failed. Where nobody tells
// of epochs, they are counted by these (py_epochs.h).
void py_schedule_iterates(PyObject *loader);
void py_schedule_iterated(PyObject *iterator);

// A batch is about to be asked for, and was; with any exception set.
void py_schedule_asking(PyObject *iterator);
void py_schedule_asked(const PyObject *iterator, bool has_got);

// An optimizer is about to step, and has.
void py_schedule_stepping(const PyObject *optimizer);
void py_schedule_stepped(const PyObject *optimizer);

// The forward of a root module begins, or, NULL, a backward: the rounds where no optimizer
// was made.
void py_schedule_working(const PyObject *module);

// Gradients of an optimizer are about to be thrown away.
void py_schedule_clearing(const PyObject *optimizer);

// gait.step() begins a step: from the first one on only it counts.
void py_schedule_told(void);

// What it costs to put the counters of a step on record.
double py_schedule_clock_cost_ns(void);

// Functions of the module. windows(schedule, levels): ops are on record while the
// schedule (bytes, see py_plan.h) says so, with what `levels` of gait/internal/torch_binding.h
// adds. With has_traces each cycle is a window of its own, and there is a spare one.
PyObject *py_schedule_windows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_schedule_close(PyObject *module, PyObject *unused);

// collectors_stop(): captures' windows end, too, and nothing is left in torch.
PyObject *py_schedule_stop(PyObject *module, PyObject *unused);

// spare(change): whether the one for a program without steps is open. True: it is cut
// off before; None: dropped.
PyObject *py_schedule_spare(PyObject *module, PyObject *change);

// epoch(): one begins here, and from now on only such calls count.
PyObject *py_schedule_epoch(PyObject *module, PyObject *unused);

// trigger(steps or None) asks for steps; take() gives what was asked for to a
// profile, 0: nothing, -1: the usual number; captures(1 or -1): a profile that takes
// triggers begins or ends.
PyObject *py_schedule_trigger(PyObject *module, PyObject *steps);
PyObject *py_schedule_take(PyObject *module, PyObject *unused);
PyObject *py_schedule_captures(PyObject *module, PyObject *change);

#endif
