// SPDX-License-Identifier: Apache-2.0
// Optimizers: their steps, and what else they do to gradients.
#ifndef GAIT_PY_OPTIMIZER_H
#define GAIT_PY_OPTIMIZER_H

#include "core/py_compat.h"

// What hooks call: of the kind "step" (an optimizer's), "scaler_step" (of a
// gradient scaler, whose argument is the optimizer), "zero_grad" and "replay" (of a CUDA
// graph: a step where other(graph) is true).
PyObject *py_optimizer_call_step(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames);
PyObject *py_optimizer_call_scaler(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames);
PyObject *py_optimizer_call_replay(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames);
PyObject *py_optimizer_call_other(PyObject *self, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames);

// Function of the module. _capture(True): the capture of a CUDA graph begins, False: it ends;
// whether an optimizer stepped in the one that ends.
PyObject *py_optimizer_capture(PyObject *module, PyObject *begins);

#endif
