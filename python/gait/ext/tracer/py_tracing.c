// SPDX-License-Identifier: Apache-2.0
// The object: a name, and the two functions that it is for.
#include "tracer/py_tracing.h"

#include "core/py_type.h"

struct tracing {
    PyObject ob_base;
    PyObject *owner, *name;
    PyCFunction start, stop;
};

static PyObject *tracing_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct tracing *tracing = (struct tracing *)self;
    PyObject *done = tracing->start(tracing->owner, tracing->name);
    if (!done)
        return NULL;
    Py_DECREF(done);
    return Py_NewRef(tracing->name);
}

static PyObject *tracing_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)args, (void)count;
    struct tracing *tracing = (struct tracing *)self;
    return tracing->stop(tracing->owner, tracing->name);
}

static int tracing_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct tracing *)self)->owner);
    return 0;
}

static void tracing_dealloc(PyObject *self)
{
    struct tracing *tracing = (struct tracing *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(tracing->owner);
    Py_XDECREF(tracing->name);
    py_type_free(self);
}

static PyMethodDef tracing_methods[] = {
    {"__enter__", tracing_enter, METH_NOARGS, NULL},
    {"__exit__", METHOD(tracing_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot tracing_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, tracing_dealloc},
    {Py_tp_traverse, tracing_traverse},
    {Py_tp_methods, tracing_methods},
    {0, NULL},
};

static PyType_Spec tracing_spec = {
    .name = "gait._native.Tracing",
    .basicsize = sizeof(struct tracing),
    .flags = PY_TYPE_FLAGS,
    .slots = tracing_slots,
};

PyTypeObject *py_tracing_create_type(void)
{
    return py_type_create(&tracing_spec);
}

PyObject *py_tracing_create(PyTypeObject *type, PyObject *owner, PyObject *name,
                            const PyCFunction functions[2])
{
    struct tracing *tracing = PyObject_GC_New(struct tracing, type);
    if (!tracing)
        return NULL;
    tracing->owner = Py_NewRef(owner);
    tracing->name = Py_NewRef(name);
    tracing->start = functions[0];
    tracing->stop = functions[1];
    PyObject_GC_Track((PyObject *)tracing);
    return (PyObject *)tracing;
}
