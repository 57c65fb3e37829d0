// SPDX-License-Identifier: Apache-2.0
// The window in which ops are recorded, gait/internal/windows.h, as Python has it:
// collectors whose work is done by a module of the package, and captures' holds.
#ifndef GAIT_PY_WINDOW_H
#define GAIT_PY_WINDOW_H

#include "core/py_compat.h"

#include <stdbool.h>

// The run's schedule holds the window. False if it could not be: gait is off, or knows
// no torch.
bool py_window_hold_for_run(unsigned levels);

// _window_hold(levels) gives a number for _window_leave(number), or None.
PyObject *py_window_hold(PyObject *module, PyObject *levels);
PyObject *py_window_leave(PyObject *module, PyObject *number);

// _window_host(collector, open, close, step or None): Python does its work from now on;
// open() is true where it could.
PyObject *py_window_host(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
