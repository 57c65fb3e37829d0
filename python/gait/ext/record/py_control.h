// SPDX-License-Identifier: Apache-2.0
// Functions of the module that switch recording on and off and say who this
// process is. They answer True or False and raise only for wrong arguments.
#ifndef GAIT_PY_CONTROL_H
#define GAIT_PY_CONTROL_H

#include "core/py_compat.h"

PyObject *py_control_start(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *py_control_stop(PyObject *module, PyObject *unused);
PyObject *py_control_flush(PyObject *module, PyObject *unused);
PyObject *py_control_snapshot(PyObject *module, PyObject *path);
PyObject *py_control_recording(PyObject *module, PyObject *unused);
PyObject *py_control_last_error(PyObject *module, PyObject *unused);
PyObject *py_control_shard_path(PyObject *module, PyObject *unused);
PyObject *py_control_thread_name(PyObject *module, PyObject *name);
PyObject *py_control_tell_names(PyObject *module, PyObject *unused);
PyObject *py_control_metadata(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_control_rank(PyObject *module, PyObject *rank);

#endif
