// SPDX-License-Identifier: Apache-2.0
// Makes the heap types of the extension, alike on every CPython.
#ifndef GAIT_PY_TYPE_H
#define GAIT_PY_TYPE_H

#include "core/py_compat.h"

// Objects of our types that have references in them.
#define PY_TYPE_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC)

// A new type (the caller owns it), or NULL. `spec` may name
// __vectorcalloffset__, __dictoffset__ and __weaklistoffset__ as members: 3.8
// does not know them, here it does.
PyTypeObject *py_type_create(PyType_Spec *spec);

// A Py_tp_new that refuses: our objects come from functions of the module.
PyObject *py_type_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

// Gives the memory of a tracked object back once its fields are let go.
void py_type_free(PyObject *self);

// Of objects that stand in for functions: a Py_tp_descr_get that binds as methods
// do; a __reduce__ by name, as functions have it (pickle stores where to find it,
// copy returns it).
PyObject *py_type_bind(PyObject *self, PyObject *object, PyObject *type);
PyObject *py_type_reduce_to_name(PyObject *self, PyObject *unused);

#endif
