// SPDX-License-Identifier: Apache-2.0
// Steps of a training loop: gait.step() as a context manager, and the number
// of the next one.
#ifndef GAIT_PY_STEP_H
#define GAIT_PY_STEP_H

#include "core/py_compat.h"

#include "core/py_state.h"

int py_step_add_type(struct py_state *state);

// A step with that number (an int from 0), or one that counts by itself when
// `number` is NULL or None. NULL and TypeError or ValueError otherwise.
PyObject *py_step_create(PyObject *module, PyObject *number);

// Functions of the module.
PyObject *py_step(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_step_begin(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_step_end(PyObject *module, PyObject *unused);

#endif
