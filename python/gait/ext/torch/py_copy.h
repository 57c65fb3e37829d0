// SPDX-License-Identifier: Apache-2.0
// Copies of tensors and modules between devices, and casts outside of a computation.
#ifndef GAIT_PY_COPY_H
#define GAIT_PY_COPY_H

#include "core/py_compat.h"

#include <stdbool.h>

// What a hook of the kind "copy" calls.
PyObject *py_copy_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

// The same for a method that gets a tuple and a dict (or NULL): begins the phase, if
// that call is a copy.
bool py_copy_begin(PyObject *args, PyObject *kwargs);

// device_type(type), a function of the module, tells what a device's type is.
PyObject *py_copy_device_type(PyObject *module, PyObject *type);

#endif
