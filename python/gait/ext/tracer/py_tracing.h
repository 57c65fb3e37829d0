// SPDX-License-Identifier: Apache-2.0
// `with tracer.profile(name)`: a context manager of C, so that nothing of it is
// seen by the tracer.
#ifndef GAIT_PY_TRACING_H
#define GAIT_PY_TRACING_H

#include "core/py_compat.h"

// A new type (the caller owns it), or NULL.
PyTypeObject *py_tracing_create_type(void);

// One that calls `start` and `stop` of `owner` with the name.
PyObject *py_tracing_create(PyTypeObject *type, PyObject *owner, PyObject *name,
                            const PyCFunction functions[2]);

#endif
