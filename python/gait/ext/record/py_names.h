// SPDX-License-Identifier: Apache-2.0
// What a name, a number or a span stands for as the place of a record.
#ifndef GAIT_PY_NAMES_H
#define GAIT_PY_NAMES_H

#include "core/py_compat.h"

#include <stdint.h>

struct span;

// The span of that category and name, the same one each time: a new reference,
// or NULL and an exception when there is no memory. Both must be exact str.
struct span *py_names_span(PyObject *module, PyObject *category, PyObject *name);

// What `what` means as the place of a record: a number from gait.site(), a
// name or a span. -1 and TypeError or ValueError, which name `function`.
int py_names_site(PyObject *module, PyObject *what, const char *function, uint32_t *ret_site);

#endif
