// SPDX-License-Identifier: Apache-2.0
// What a hook, a window and a clocked step cost the training's thread, as metadata
// `cost_ns.hooks`: told early and again as more of them are measured, so that it is on
// record of a program that a signal ends.
#ifndef GAIT_PY_COST_H
#define GAIT_PY_COST_H

#include "core/py_compat.h"

#include <stdint.h>

// So many phases were measured. Tells at each doubling of that.
void py_cost_grows(uint64_t measured);

// Told anew in a child of fork, which has a record of its own.
void py_cost_forget_told(void);

// Functions of the module. call(ns): what it costs to be called through a hook, which
// cannot be seen from inside. tell(): puts all on record, at the end.
PyObject *py_cost_call(PyObject *module, PyObject *call_ns);
PyObject *py_cost_tell(PyObject *module, PyObject *unused);

#endif
