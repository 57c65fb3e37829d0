// SPDX-License-Identifier: Apache-2.0
// The span object; what `with` does with it is in py_bound.c, what the
// decorator does is in decorate.py and py_decorated.c.
#include "record/py_span.h"

#include <gait/record.h>

#include "core/py_text.h"
#include "core/py_thread.h"
#include "core/py_type.h"
#include "record/py_args.h"

void py_span_begin(struct span *span)
{
    py_thread_ready();
    uint32_t site = span->site;
    if (__builtin_expect(!site, 0))
        site = py_span_resolve(span);
    (gait_begin)(site);
    if (__builtin_expect(span->arguments != NULL, 0))
        py_args_record_all(span->module, span->arguments);
}

void py_span_end(void)
{
    (gait_end)();
}

void py_span_failed(struct span *span, PyObject *error, PyObject *traceback)
{
    if (!span->name || PyUnicode_CompareWithASCIIString(span->category, "phase") != 0)
        return;
    PyObject *failure = PyImport_ImportModule("gait._failure");
    PyObject *done = failure ? PyObject_CallMethod(failure, "leave", "OOO", span->name, error,
                                                   traceback ? traceback : Py_None)
                             : NULL;
    Py_XDECREF(done);
    Py_XDECREF(failure);
    PyErr_Clear();
}

void py_span_end_call(struct span *span, bool failed)
{
    py_span_end();
    if (__builtin_expect(!failed, 1) || !PyErr_Occurred())
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    py_span_failed(span, value, traceback);
    PyErr_Restore(type, value, traceback);
}

uint32_t py_span_resolve(struct span *span)
{
    if (!span->name) // the garbage collector is taking it apart
        return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct py_text category, name;
    if (!py_text_init(&category, span->category)) {
        if (!py_text_init(&name, span->name)) {
            span->site = gait_site(category.chars, name.chars);
            py_text_finish(&name);
        }
        py_text_finish(&category);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return span->site;
}

struct span *py_span_create(PyObject *module, PyObject *category, PyObject *name,
                            PyObject *arguments)
{
    struct span *span = PyObject_GC_New(struct span, py_state_of(module)->span_type);
    if (!span)
        return NULL;
    span->site = 0;
    span->is_lasting = 0;
    span->module = Py_NewRef(module);
    span->category = Py_NewRef(category);
    span->name = Py_NewRef(name);
    Py_XINCREF(arguments);
    span->arguments = arguments;
    span->bound[PY_ENTER] = span->bound[PY_LEAVE] = NULL;
    PyObject_GC_Track((PyObject *)span);
    py_span_resolve(span);
    return span;
}

static int span_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct span *span = (struct span *)self;
    VISIT_TYPE_OF(self);
    Py_VISIT(span->module);
    Py_VISIT(span->arguments);
    Py_VISIT(span->bound[PY_ENTER]);
    Py_VISIT(span->bound[PY_LEAVE]);
    return 0;
}

static int span_clear(PyObject *self)
{
    struct span *span = (struct span *)self;
    Py_CLEAR(span->arguments);
    Py_CLEAR(span->module);
    Py_CLEAR(span->category);
    Py_CLEAR(span->name);
    Py_CLEAR(span->bound[PY_ENTER]);
    Py_CLEAR(span->bound[PY_LEAVE]);
    return 0;
}

static void span_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    span_clear(self);
    py_type_free(self);
}

static PyObject *span_repr(PyObject *self)
{
    struct span *span = (struct span *)self;
    return PyUnicode_FromFormat("gait.span(%R, category=%R)", span->name, span->category);
}

// Used as a decorator. Which kind of function it is and what a wrapper must
// look like from outside is a matter of Python: gait/decorate.py.
static PyObject *span_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) != 1 || (kwargs && PyDict_GET_SIZE(kwargs))) {
        PyErr_SetString(PyExc_TypeError, "a gait span is called with the function it decorates");
        return NULL;
    }
    PyObject *decorate = PyImport_ImportModule("gait.decorate");
    if (!decorate)
        return NULL;
    PyObject *result =
        PyObject_CallMethod(decorate, "decorate", "OO", self, PyTuple_GET_ITEM(args, 0));
    Py_DECREF(decorate);
    return result;
}

static PyObject *span_args(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct span *span = (struct span *)self;
    if (PyTuple_GET_SIZE(args)) {
        PyErr_SetString(PyExc_TypeError, "args() takes its arguments by name: args(batch=3)");
        return NULL;
    }
    PyObject *arguments = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    if (!arguments)
        return NULL;
    struct span *with_args = NULL;
    if (!span->arguments || !PyDict_Merge(arguments, span->arguments, 0))
        with_args = py_span_create(span->module, span->category, span->name, arguments);
    Py_DECREF(arguments);
    return (PyObject *)with_args;
}

// copy.copy() and pickle give the span of that name in the process that loads it.
static PyObject *span_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct span *span = (struct span *)self;
    if (span->arguments) {
        PyErr_SetString(PyExc_TypeError, "a gait span with arguments cannot be pickled");
        return NULL;
    }
    PyObject *factory = PyObject_GetAttrString(span->module, "span");
    if (!factory)
        return NULL;
    return Py_BuildValue("N(OO)", factory, span->name, span->category);
}

static PyMethodDef span_methods[] = {
    {"args", METHOD(span_args), METH_VARARGS | METH_KEYWORDS,
     "args($self, /, **values)\n--\n\n"
     "The same span with arguments, which are recorded each time it begins."},
    {"__reduce__", span_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef span_members[] = {
    {"name", T_OBJECT_EX, offsetof(struct span, name), READONLY, "what the span is called"},
    {"category", T_OBJECT_EX, offsetof(struct span, category), READONLY, "its kind, a free text"},
    {"site", T_UINT, offsetof(struct span, site), READONLY, "its number for begin() and next()"},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(span_doc, "A named stretch of time: a context manager and a decorator.\n\n"
                       "One object serves all threads and any depth of nesting.");

static PyType_Slot span_slots[] = {
    {Py_tp_doc, (void *)span_doc}, {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, span_dealloc}, {Py_tp_traverse, span_traverse},
    {Py_tp_clear, span_clear},     {Py_tp_repr, span_repr},
    {Py_tp_call, span_call},       {Py_tp_methods, span_methods},
    {Py_tp_members, span_members}, {0, NULL},
};

static PyType_Spec span_spec = {
    .name = "gait._native.Span",
    .basicsize = sizeof(struct span),
    .flags = PY_TYPE_FLAGS,
    .slots = span_slots,
};

int py_span_add_types(struct py_state *state)
{
    state->span_type = py_type_create(&span_spec);
    return state->span_type ? py_bound_add_types(state) : -1;
}
