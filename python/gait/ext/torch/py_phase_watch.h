// SPDX-License-Identifier: Apache-2.0
// Phases of a training as actions of a named profiler: `gait run --profiler`.
#ifndef GAIT_PY_PHASE_WATCH_H
#define GAIT_PY_PHASE_WATCH_H

#include "core/py_compat.h"

#include "torch/py_phase.h"

// Is there such a profiler? Written with the GIL held, as it is read.
extern int py_phase_is_watched;

// Its start() and stop(). The GIL is held; exceptions that are set stay, and
// those of the profiler go no further.
void py_phase_watch_begin(enum py_phase phase, const char *name);
void py_phase_watch_end(void);

// _phase_watch(start, stop), or None twice: who hears of phases from now on.
PyObject *py_phase_watch(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
