// SPDX-License-Identifier: Apache-2.0
// Heap types, and what 3.8 lacks for them.
#include "core/py_type.h"

#if PY_VERSION_HEX < 0x03090000
#include <string.h>

static void adopt_offsets(PyTypeObject *type, const PyMemberDef *member)
{
    for (; member->name; member++) {
        if (!strcmp(member->name, "__vectorcalloffset__"))
            type->tp_vectorcall_offset = member->offset;
        else if (!strcmp(member->name, "__dictoffset__"))
            type->tp_dictoffset = member->offset;
        else if (!strcmp(member->name, "__weaklistoffset__"))
            type->tp_weaklistoffset = member->offset;
    }
}
#else
static void adopt_offsets(PyTypeObject *type, const PyMemberDef *member)
{
    (void)type, (void)member;
}
#endif

PyTypeObject *py_type_create(PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(spec);
    if (!type)
        return NULL;
    for (const PyType_Slot *slot = spec->slots; slot->slot; slot++) {
        if (slot->slot == Py_tp_members)
            adopt_offsets(type, slot->pfunc);
    }
    return type;
}

PyObject *py_type_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    PyErr_Format(PyExc_TypeError, "'%s' objects come from functions of gait", type->tp_name);
    return NULL;
}

void py_type_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

PyObject *py_type_bind(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (!object || object == Py_None)
        return Py_NewRef(self);
    return PyMethod_New(self, object);
}

PyObject *py_type_reduce_to_name(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}
