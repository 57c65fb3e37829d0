// SPDX-License-Identifier: Apache-2.0
// What was measured, as lists for the tables in profilers/simple.py.
#ifndef GAIT_PY_ACTION_ROWS_H
#define GAIT_PY_ACTION_ROWS_H

#include "actions/py_actions.h"

// [(name, calls, total, own, outermost, least, most, sd, p50, p95, p99), …] in
// the order in which they were first complete; all times in seconds. `total`
// is the sum of all calls, `outermost` leaves out what ran inside itself.
PyObject *py_action_rows(PyObject *self, PyObject *unused);

// [(depth, name, calls, total, own), …], parents first, one tree for each thread.
PyObject *py_action_tree(PyObject *self, PyObject *unused);

#endif
