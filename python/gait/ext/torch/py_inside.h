// SPDX-License-Identifier: Apache-2.0
// Hooks functions of C inside: the object that torch and programs hold stays.
#ifndef GAIT_PY_INSIDE_H
#define GAIT_PY_INSIDE_H

#include "core/py_compat.h"

// _hook_inside(is_copy, function), a function of the module: calls of a method of
// Tensor are copies from now on, those of a function that pybind11 made communication.
// False where it cannot be done so: then a hook must stand in its place.
PyObject *py_inside(PyObject *module, PyObject *const *args, Py_ssize_t count);

// _unhook_inside(function): as it was before. False where it was not hooked.
PyObject *py_inside_undo(PyObject *module, PyObject *function);

#endif
