// SPDX-License-Identifier: Apache-2.0
// Functions of the module that record: each converts its arguments and calls
// the function of gait/record.h that bears its name.
#ifndef GAIT_PY_RECORD_H
#define GAIT_PY_RECORD_H

#include "core/py_compat.h"

PyObject *py_record_span(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *kwnames);
PyObject *py_record_site(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_begin(PyObject *module, PyObject *what);
PyObject *py_record_end(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_next(PyObject *module, PyObject *what);
PyObject *py_record_mark(PyObject *module, PyObject *what);
PyObject *py_record_count(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_arg(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_async_begin(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_async_end(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_flow_begin(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_flow_step(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_record_flow_end(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
