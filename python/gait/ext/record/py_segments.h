// SPDX-License-Identifier: Apache-2.0
// Drives a generator or coroutine so that its span is open only while its body
// runs: begun when it is resumed, ended when it yields. What runs in between,
// another task of the loop or the consumer, is never inside.
#ifndef GAIT_PY_SEGMENTS_H
#define GAIT_PY_SEGMENTS_H

#include "core/py_compat.h"

#include "core/py_state.h"

int py_segments_add_type(struct py_state *state);

// Function of the module: segments(span, iterator), for decorate.py.
PyObject *py_segments(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
