// SPDX-License-Identifier: Apache-2.0
// Modules: calls of root modules, and evaluation.
#ifndef GAIT_PY_MODULE_H
#define GAIT_PY_MODULE_H

#include "core/py_compat.h"

// What hooks call: "forward" stands in for Module.__call__ (all modules pass
// through it, roots are recorded), "train" for Module.train.
PyObject *py_module_call_forward(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames);
PyObject *py_module_call_train(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);

// wrapper(type, attribute), a function of the module, tells that modules of the
// type only hold another one.
PyObject *py_module_wrapper(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
