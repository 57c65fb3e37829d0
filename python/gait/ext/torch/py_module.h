// SPDX-License-Identifier: Apache-2.0
// Modules: calls of root modules, evaluation, and copies of tensors.
#ifndef GAIT_PY_MODULE_H
#define GAIT_PY_MODULE_H

#include "core/py_compat.h"

// What hooks call: "forward" stands in for Module.__call__ (all modules pass
// through it, roots are recorded), "train" for Module.train, "copy" for
// Tensor.to and its like.
PyObject *py_module_call_forward(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames);
PyObject *py_module_call_train(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);
PyObject *py_module_call_copy(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);

// Functions of the module: wrapper(type, attribute) tells that modules of the
// type only hold another one; device_type(type) what a device's type is.
PyObject *py_module_wrapper(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_module_device_type(PyObject *module, PyObject *type);

#endif
