// SPDX-License-Identifier: Apache-2.0
// What a tracer saw, by action: the numbers of pstats.
#ifndef GAIT_PY_TRACER_STATS_H
#define GAIT_PY_TRACER_STATS_H

#include "tracer/py_tracer.h"

// Names of the actions that ever began, in the order of their first start.
PyObject *py_tracer_actions(PyObject *self, PyObject *unused);

// _stats(action, apart=None): of one action, or of all there is with None, without the
// calls made while the other one ran as well; a row a function:
// [(label, primitive calls, calls, own seconds, seconds,
//   [(place of the caller in the list, calls, primitive calls, own, total), …]), …].
PyObject *py_tracer_stats(PyObject *self, PyObject *args);

#endif
