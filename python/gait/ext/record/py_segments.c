// SPDX-License-Identifier: Apache-2.0
// An iterator that passes everything through: values, exceptions, close. It is
// awaitable too, so one type serves `yield from` and `await`.
#include "record/py_segments.h"

#include <gait/record.h>

#include "core/py_type.h"
#include "record/py_span.h"

struct segments {
    PyObject ob_base;
    struct span *span;
    PyObject *inner; // what is driven
};

// A run of the body: `is_open` says whether it began under a recording.
static int run_begin(const struct segments *segments)
{
    if (!GAIT_ON)
        return 0;
    py_span_begin(segments->span);
    return 1;
}

static void run_end(const struct segments *segments, int is_open, bool failed)
{
    if (is_open)
        py_span_end_call(segments->span, failed);
}

static PyObject *segments_next(PyObject *self)
{
    struct segments *segments = (struct segments *)self;
    PyObject *inner = segments->inner;
    int is_open = run_begin(segments);
    PyObject *result = Py_TYPE(inner)->tp_iternext(inner);
    run_end(segments, is_open, !result);
    return result;
}

static PyObject *send_value(PyObject *inner, PyObject *value)
{
    if (value == Py_None)
        return Py_TYPE(inner)->tp_iternext(inner);
    PyObject *method = PyObject_GetAttrString(inner, "send");
    // not PyObject_CallMethod(): that one takes a tuple for the arguments themselves
    PyObject *result = method ? PyObject_CallOneArg(method, value) : NULL;
    Py_XDECREF(method);
    return result;
}

static PyObject *segments_send(PyObject *self, PyObject *value)
{
    struct segments *segments = (struct segments *)self;
    int is_open = run_begin(segments);
    PyObject *result = send_value(segments->inner, value);
    run_end(segments, is_open, !result);
    if (!result && !PyErr_Occurred()) // an iterator's end may come without a word
        PyErr_SetNone(PyExc_StopIteration);
    return result;
}

#if PY_VERSION_HEX >= 0x030A0000
static PySendResult segments_am_send(PyObject *self, PyObject *value, PyObject **ret_result)
{
    struct segments *segments = (struct segments *)self;
    int is_open = run_begin(segments);
    PySendResult outcome = PyIter_Send(segments->inner, value, ret_result);
    run_end(segments, is_open, outcome == PYGEN_ERROR);
    return outcome;
}
#endif

// `method` of what is driven, NULL without an exception where it has none.
static PyObject *find_method(PyObject *inner, const char *method)
{
    PyObject *found = PyObject_GetAttrString(inner, method);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return found;
}

// throw(exception) or throw(type, value, traceback) into something that cannot
// take it: it is raised here.
static PyObject *raise_given(PyObject *args)
{
    PyObject *type = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
    PyObject *value = PyTuple_GET_SIZE(args) > 1 ? PyTuple_GET_ITEM(args, 1) : NULL;
    if (type && PyExceptionInstance_Check(type))
        PyErr_SetObject((PyObject *)Py_TYPE(type), type);
    else if (type && PyExceptionClass_Check(type))
        PyErr_SetObject(type, value);
    else
        PyErr_SetString(PyExc_TypeError, "throw() takes an exception");
    return NULL;
}

static PyObject *segments_throw(PyObject *self, PyObject *args)
{
    struct segments *segments = (struct segments *)self;
    PyObject *method = find_method(segments->inner, "throw");
    if (!method)
        return PyErr_Occurred() ? NULL : raise_given(args);
    int is_open = run_begin(segments);
    PyObject *result = PyObject_CallObject(method, args);
    run_end(segments, is_open, !result);
    Py_DECREF(method);
    return result;
}

static PyObject *segments_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct segments *segments = (struct segments *)self;
    PyObject *method = find_method(segments->inner, "close");
    if (!method) {
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    int is_open = run_begin(segments);
    PyObject *result = PyObject_CallNoArgs(method);
    run_end(segments, is_open, !result);
    Py_DECREF(method);
    return result;
}

PyObject *py_segments(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const struct py_state *state = py_state_of(module);
    if (count != 2 || Py_TYPE(args[0]) != state->span_type || !PyIter_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "segments(span, iterator) takes a span and an iterator");
        return NULL;
    }
    PyTypeObject *type = state->segments_type;
    struct segments *segments = (struct segments *)type->tp_alloc(type, 0);
    if (!segments)
        return NULL;
    segments->span = (struct span *)Py_NewRef(args[0]);
    segments->inner = Py_NewRef(args[1]);
    return (PyObject *)segments;
}

static int segments_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct segments *segments = (struct segments *)self;
    VISIT_TYPE_OF(self);
    Py_VISIT(segments->span);
    Py_VISIT(segments->inner);
    return 0;
}

static void segments_dealloc(PyObject *self)
{
    struct segments *segments = (struct segments *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(segments->span);
    Py_XDECREF(segments->inner);
    py_type_free(self);
}

static PyObject *segments_self(PyObject *self)
{
    return Py_NewRef(self);
}

static PyMethodDef segments_methods[] = {
    {"send", segments_send, METH_O, NULL},
    {"throw", segments_throw, METH_VARARGS, NULL},
    {"close", segments_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot segments_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, segments_dealloc},
    {Py_tp_traverse, segments_traverse},
    {Py_tp_iter, segments_self},
    {Py_tp_iternext, segments_next},
    {Py_am_await, segments_self},
    {Py_tp_methods, segments_methods},
#if PY_VERSION_HEX >= 0x030A0000
    {Py_am_send, segments_am_send},
#endif
    {0, NULL},
};

static PyType_Spec segments_spec = {
    .name = "gait._native.Segments",
    .basicsize = sizeof(struct segments),
    .flags = PY_TYPE_FLAGS,
    .slots = segments_slots,
};

int py_segments_add_type(struct py_state *state)
{
    state->segments_type = py_type_create(&segments_spec);
    return state->segments_type ? 0 : -1;
}
