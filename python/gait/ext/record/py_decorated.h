// SPDX-License-Identifier: Apache-2.0
// A function that runs inside a span: what `@gait.span("x")` makes of a plain
// function. Like functools.lru_cache's it is an object of its own that behaves
// like the function it wraps, as method too.
#ifndef GAIT_PY_DECORATED_H
#define GAIT_PY_DECORATED_H

#include "core/py_compat.h"

#include "core/py_state.h"

int py_decorated_add_type(struct py_state *state);

// Function of the module: decorated(span, function), for decorate.py.
PyObject *py_decorated(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
