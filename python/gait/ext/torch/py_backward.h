// SPDX-License-Identifier: Apache-2.0
// Backward passes, and in a group of processes the wait for the others at
// their end.
#ifndef GAIT_PY_BACKWARD_H
#define GAIT_PY_BACKWARD_H

#include "core/py_compat.h"

// What hooks of the kind "backward" call, which stand in for what runs the engine.
PyObject *py_backward_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

// Functions of the module. tail(queue): the engine's queue_callback where there are
// other processes to wait for, else None. The other two are what the engine calls.
PyObject *py_backward_tail(PyObject *module, PyObject *queue);
PyObject *py_backward_begins(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_backward_ends(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
