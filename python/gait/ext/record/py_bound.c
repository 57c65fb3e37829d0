// SPDX-License-Identifier: Apache-2.0
// The binder, and what it hands out. Two bound methods a round, made and thrown
// away, cost a third of the whole `with`.
#include "record/py_bound.h"

#include <gait/record.h>

#include "core/py_type.h"
#include "record/py_span.h"

// One side of one span: what `with` calls. It and a lasting span own each other;
// the span lets go first.
struct bound {
    PyObject ob_base;
    vectorcallfunc call;
    struct span *span;
};

// The attribute __enter__ or __exit__ of the span type.
struct binder {
    PyObject ob_base;
    vectorcallfunc call;
    PyTypeObject *span_type, *bound_type;
    enum py_side side;
};

static PyObject *enter(struct span *span)
{
    if (GAIT_ON)
        py_span_begin(span);
    return Py_NewRef(span);
}

// given: what `with` tells of an exception, its type, itself and its traceback.
static PyObject *leave(struct span *span, PyObject *const *given, Py_ssize_t count)
{
    if (!GAIT_ON)
        Py_RETURN_NONE;
    py_span_end();
    if (count == 3 && __builtin_expect(given[1] != Py_None, 0))
        py_span_failed(span, given[1], given[2]);
    Py_RETURN_NONE;
}

static PyObject *call_enter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)args, (void)nargsf, (void)kwnames;
    return enter(((struct bound *)self)->span);
}

static PyObject *call_leave(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)kwnames;
    return leave(((struct bound *)self)->span, args, PyVectorcall_NARGS(nargsf));
}

static int bound_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct bound *)self)->span);
    return 0;
}

static void bound_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_DECREF(((struct bound *)self)->span);
    py_type_free(self);
}

static PyMemberDef bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct bound, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot bound_slots[] = {
    {Py_tp_new, py_type_no_new},      {Py_tp_dealloc, bound_dealloc},
    {Py_tp_traverse, bound_traverse}, {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, bound_members},   {0, NULL},
};

static PyType_Spec bound_spec = {
    .name = "gait._native.Bound",
    .basicsize = sizeof(struct bound),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = bound_slots,
};

static PyObject *bound_create(struct span *span, const struct binder *binder)
{
    struct bound *bound = PyObject_GC_New(struct bound, binder->bound_type);
    if (!bound)
        return NULL;
    bound->call = binder->side == PY_ENTER ? call_enter : call_leave;
    bound->span = (struct span *)Py_NewRef(span);
    PyObject_GC_Track((PyObject *)bound);
    return (PyObject *)bound;
}

// type(span).__enter__(span), as contextlib.ExitStack spells it.
static PyObject *binder_call(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames)
{
    (void)kwnames;
    struct binder *binder = (struct binder *)self;
    if (PyVectorcall_NARGS(nargsf) < 1 || Py_TYPE(args[0]) != binder->span_type) {
        PyErr_SetString(PyExc_TypeError, "__enter__ and __exit__ of a gait span take that span");
        return NULL;
    }
    struct span *span = (struct span *)args[0];
    return binder->side == PY_ENTER ? enter(span)
                                    : leave(span, args + 1, PyVectorcall_NARGS(nargsf) - 1);
}

static PyObject *binder_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    struct binder *binder = (struct binder *)self;
    if (!object || Py_TYPE(object) != binder->span_type)
        return Py_NewRef(self);
    struct span *span = (struct span *)object;
    PyObject *bound = span->bound[binder->side];
    if (__builtin_expect(bound != NULL, 1))
        return Py_NewRef(bound);
    bound = bound_create(span, binder);
    if (bound && span->is_lasting)
        span->bound[binder->side] = Py_NewRef(bound);
    return bound;
}

static int binder_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct binder *)self)->span_type);
    Py_VISIT(((struct binder *)self)->bound_type);
    return 0;
}

static void binder_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_DECREF(((struct binder *)self)->span_type);
    Py_DECREF(((struct binder *)self)->bound_type);
    py_type_free(self);
}

static PyMemberDef binder_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct binder, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot binder_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, binder_dealloc},
    {Py_tp_traverse, binder_traverse},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, binder_get},
    {Py_tp_members, binder_members},
    {0, NULL},
};

static PyType_Spec binder_spec = {
    .name = "gait._native.Binder",
    .basicsize = sizeof(struct binder),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = binder_slots,
};

static int add_binder(struct py_state *state, PyTypeObject *type, enum py_side side)
{
    struct binder *binder = PyObject_GC_New(struct binder, type);
    if (!binder)
        return -1;
    binder->call = binder_call;
    binder->side = side;
    binder->span_type = (PyTypeObject *)Py_NewRef(state->span_type);
    binder->bound_type = (PyTypeObject *)Py_NewRef(state->bound_type);
    PyObject_GC_Track((PyObject *)binder);
    const char *name = side == PY_ENTER ? "__enter__" : "__exit__";
    int failed = PyObject_SetAttrString((PyObject *)state->span_type, name, (PyObject *)binder);
    Py_DECREF(binder);
    return failed;
}

int py_bound_add_types(struct py_state *state)
{
    state->bound_type = py_type_create(&bound_spec);
    PyTypeObject *binder_type = py_type_create(&binder_spec);
    int failed = !state->bound_type || !binder_type || add_binder(state, binder_type, PY_ENTER) ||
                 add_binder(state, binder_type, PY_LEAVE);
    Py_XDECREF(binder_type);
    return failed ? -1 : 0;
}
