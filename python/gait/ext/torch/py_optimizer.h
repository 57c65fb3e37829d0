// SPDX-License-Identifier: Apache-2.0
// Optimizers: their steps, and what else they do to gradients.
#ifndef GAIT_PY_OPTIMIZER_H
#define GAIT_PY_OPTIMIZER_H

#include "core/py_compat.h"

// What hooks call: of the kind "step" (an optimizer's), "scaler_step" (of a
// gradient scaler, whose argument is the optimizer) and "zero_grad".
PyObject *py_optimizer_call_step(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames);
PyObject *py_optimizer_call_scaler(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames);
PyObject *py_optimizer_call_other(PyObject *self, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames);

#endif
