// SPDX-License-Identifier: Apache-2.0
// Arguments of the innermost open span, typed by what Python gives.
#ifndef GAIT_PY_ARGS_H
#define GAIT_PY_ARGS_H

#include "core/py_compat.h"

// Records `key`=`value`; key must be an exact str. Raises nothing, whatever
// the value does when it is asked for its text.
void py_args_record(PyObject *module, PyObject *key, PyObject *value);

// All of a dict whose keys are str.
void py_args_record_all(PyObject *module, PyObject *arguments);

#endif
