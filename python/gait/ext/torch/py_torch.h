// SPDX-License-Identifier: Apache-2.0
// What gait/torch/windows.py asks of the collector of ops, gait/internal/torch_binding.h.
#ifndef GAIT_PY_TORCH_H
#define GAIT_PY_TORCH_H

#include "core/py_compat.h"

// Functions of the module. attach() finds torch; guard(address, keys, avoided) tells
// what a harmless tensor is; ranges(on) records ranges outside of windows too. They
// answer whether it worked; lacks() what does not work, in one line.
PyObject *py_torch_attach(PyObject *module, PyObject *unused);
PyObject *py_torch_learn(PyObject *module, PyObject *is_on);
PyObject *py_torch_guard(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_torch_ranges(PyObject *module, PyObject *is_on);
PyObject *py_torch_lacks(PyObject *module, PyObject *unused);
PyObject *py_torch_describe(PyObject *module, PyObject *unused);
PyObject *py_torch_window(PyObject *module, PyObject *levels);

#endif
