// SPDX-License-Identifier: Apache-2.0
// Input: asking a loader's iterator for a batch, and making one.
#ifndef GAIT_PY_LOADER_H
#define GAIT_PY_LOADER_H

#include "core/py_compat.h"

// What hooks of the kinds "ask" and "iterator" call.
PyObject *py_loader_call_next(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);
PyObject *py_loader_call_iter(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);

// Tells which type a tensor has; until then no batch's size is known.
PyObject *py_loader_tensor_type(PyObject *module, PyObject *type);

#endif
