// SPDX-License-Identifier: Apache-2.0
// A callable around a callable: begin, call, end. Names, docstring and the rest
// are put on it by decorate.py.
#include "record/py_decorated.h"

#include <gait/record.h>

#include "core/py_type.h"
#include "record/py_span.h"

struct decorated {
    PyObject ob_base;
    vectorcallfunc call;
    struct span *span;
    PyObject *function;
    PyObject *dict, *weak_references;
};

static PyObject *decorated_call(PyObject *self, PyObject *const *args, size_t nargsf,
                                PyObject *kwnames)
{
    struct decorated *decorated = (struct decorated *)self;
    if (!GAIT_ON)
        return PyObject_Vectorcall(decorated->function, args, nargsf, kwnames);
    py_span_begin(decorated->span);
    PyObject *result = PyObject_Vectorcall(decorated->function, args, nargsf, kwnames);
    py_span_end_call(decorated->span, !result);
    return result;
}

PyObject *py_decorated(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const struct py_state *state = py_state_of(module);
    if (count != 2 || Py_TYPE(args[0]) != state->span_type || !PyCallable_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "decorated(span, function) takes a span and a callable");
        return NULL;
    }
    PyTypeObject *type = state->decorated_type;
    struct decorated *decorated = (struct decorated *)type->tp_alloc(type, 0);
    if (!decorated)
        return NULL;
    decorated->call = decorated_call;
    decorated->span = (struct span *)Py_NewRef(args[0]);
    decorated->function = Py_NewRef(args[1]);
    return (PyObject *)decorated;
}

static int decorated_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct decorated *decorated = (struct decorated *)self;
    VISIT_TYPE_OF(self);
    Py_VISIT(decorated->span);
    Py_VISIT(decorated->function);
    Py_VISIT(decorated->dict);
    return 0;
}

// The span and the function stay until the end: a call may still be on its way.
static int decorated_clear(PyObject *self)
{
    Py_CLEAR(((struct decorated *)self)->dict);
    return 0;
}

static void decorated_dealloc(PyObject *self)
{
    struct decorated *decorated = (struct decorated *)self;
    PyObject_GC_UnTrack(self);
    if (decorated->weak_references)
        PyObject_ClearWeakRefs(self);
    decorated_clear(self);
    Py_XDECREF(decorated->span);
    Py_XDECREF(decorated->function);
    py_type_free(self);
}

static PyObject *decorated_repr(PyObject *self)
{
    struct decorated *decorated = (struct decorated *)self;
    return PyUnicode_FromFormat("<%R in %R>", decorated->function, decorated->span);
}

// From 3.14 on functools.update_wrapper() hands over what makes the annotations, and a function
// makes them when it is asked: so it is asked.
static PyObject *decorated_annotations(PyObject *self, void *Py_UNUSED(closure))
{
    struct decorated *decorated = (struct decorated *)self;
    PyObject *own =
        decorated->dict ? PyDict_GetItemString(decorated->dict, "__annotations__") : NULL;
    return own ? Py_NewRef(own) : PyObject_GetAttrString(decorated->function, "__annotations__");
}

static int decorated_annotate(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    PyObject *dict = PyObject_GenericGetDict(self, NULL);
    if (!dict)
        return -1;
    const int status = value ? PyDict_SetItemString(dict, "__annotations__", value)
                             : PyDict_DelItemString(dict, "__annotations__");
    Py_DECREF(dict);
    return status;
}

static PyGetSetDef decorated_fields[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"__annotations__", decorated_annotations, decorated_annotate, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef decorated_methods[] = {
    {"__reduce__", py_type_reduce_to_name, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef decorated_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct decorated, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct decorated, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct decorated, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot decorated_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, decorated_dealloc},
    {Py_tp_traverse, decorated_traverse},
    {Py_tp_clear, decorated_clear},
    {Py_tp_repr, decorated_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, py_type_bind},
    {Py_tp_methods, decorated_methods},
    {Py_tp_getset, decorated_fields},
    {Py_tp_members, decorated_members},
    {0, NULL},
};

static PyType_Spec decorated_spec = {
    .name = "gait._native.Decorated",
    .basicsize = sizeof(struct decorated),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = decorated_slots,
};

int py_decorated_add_type(struct py_state *state)
{
    state->decorated_type = py_type_create(&decorated_spec);
    return state->decorated_type ? 0 : -1;
}
