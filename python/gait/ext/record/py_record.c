// SPDX-License-Identifier: Apache-2.0
// Argument conversion for what records. Mistakes in the call raise, recording
// or not, so that they are found before it matters; the recorder never raises.
#include "record/py_record.h"

#include <gait/record.h>

#include "core/py_state.h"
#include "core/py_thread.h"
#include "record/py_args.h"
#include "record/py_names.h"
#include "record/py_span.h"

// span("name", category="python"): the keyword after `count` positionals.
static PyObject *span_category(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (count == 2 && !keywords)
        return args[1];
    if (count == 1 && keywords == 1 &&
        !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "category"))
        return args[1];
    PyErr_SetString(PyExc_TypeError, "span() takes a name and, if you like, a category");
    return NULL;
}

static PyObject *span_of_any(PyObject *module, PyObject *given_name, PyObject *given_category)
{
    PyObject *span = NULL;
    PyObject *name = py_state_str(given_name, "span", "name");
    PyObject *category = name ? py_state_str(given_category, "span", "category") : NULL;
    if (category)
        span = (PyObject *)py_names_span(module, category, name);
    Py_XDECREF(category);
    Py_XDECREF(name);
    return span;
}

PyObject *py_record_span(PyObject *module, PyObject *const *args, Py_ssize_t count,
                         PyObject *kwnames)
{
    PyObject *category = py_state_of(module)->python;
    if (__builtin_expect(count != 1 || kwnames, 0)) {
        category = span_category(args, count, kwnames);
        if (!category)
            return NULL;
    }
    if (__builtin_expect(PyUnicode_CheckExact(args[0]) && PyUnicode_CheckExact(category), 1))
        return (PyObject *)py_names_span(module, category, args[0]);
    return span_of_any(module, args[0], category);
}

PyObject *py_record_site(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "site() takes a category and a name");
        return NULL;
    }
    struct span *span = (struct span *)span_of_any(module, args[1], args[0]);
    if (!span)
        return NULL;
    uint32_t site = span->site ? span->site : py_span_resolve(span);
    Py_DECREF(span);
    return PyLong_FromUnsignedLong(site);
}

// What begin(), next() and mark() are given. They are METH_O, end() is
// METH_FASTCALL: CPython 3.11 calls these quickest around a reading of the clock
// (METH_FASTCALL + 4 ns, METH_NOARGS + 9 ns).
static inline int find_place(PyObject *module, PyObject *what, const char *function,
                             uint32_t *ret_site)
{
    if (__builtin_expect(PyLong_CheckExact(what), 1)) {
        *ret_site = small_int(what);
        if (__builtin_expect(*ret_site != UINT32_MAX, 1))
            return 0;
    }
    return py_names_site(module, what, function, ret_site);
}

PyObject *py_record_begin(PyObject *module, PyObject *what)
{
    uint32_t site;
    if (find_place(module, what, "begin", &site))
        return NULL;
    if (GAIT_ON) {
        py_thread_ready();
        (gait_begin)(site);
    }
    Py_RETURN_NONE;
}

PyObject *py_record_end(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args;
    if (__builtin_expect(count != 0, 0)) {
        PyErr_SetString(PyExc_TypeError, "end() takes no arguments");
        return NULL;
    }
    gait_end();
    Py_RETURN_NONE;
}

PyObject *py_record_next(PyObject *module, PyObject *what)
{
    uint32_t site;
    if (find_place(module, what, "next", &site))
        return NULL;
    if (GAIT_ON) {
        py_thread_ready();
        (gait_next)(site);
    }
    Py_RETURN_NONE;
}

PyObject *py_record_mark(PyObject *module, PyObject *what)
{
    uint32_t site;
    if (find_place(module, what, "mark", &site))
        return NULL;
    if (GAIT_ON) {
        py_thread_ready();
        (gait_mark)(site);
    }
    Py_RETURN_NONE;
}

static int is_number(PyObject *value)
{
    const PyNumberMethods *number = Py_TYPE(value)->tp_as_number;
    return number && (number->nb_float || number->nb_index);
}

// An int that does not fit 64 bits is counted as the nearest real number.
static void count_int(uint32_t site, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) {
        (gait_count)(site, number);
        return;
    }
    double real = PyLong_AsDouble(value);
    if (!PyErr_Occurred())
        (gait_count_real)(site, real);
}

static void count_other(uint32_t site, PyObject *value)
{
    const int is_int = Py_TYPE(value)->tp_as_number->nb_index && !PyFloat_Check(value);
    PyObject *number = is_int ? PyNumber_Index(value) : NULL;
    if (number) {
        count_int(site, number);
    } else {
        PyErr_Clear(); // a real tensor has an __index__ that refuses
        number = PyNumber_Float(value);
        if (number)
            (gait_count_real)(site, PyFloat_AS_DOUBLE(number));
    }
    Py_XDECREF(number);
}

PyObject *py_record_count(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    uint32_t site;
    if (count != 2 || !is_number(args[1])) {
        PyErr_SetString(PyExc_TypeError, "count() takes a name, site or span and a number");
        return NULL;
    }
    if (py_names_site(module, args[0], "count", &site))
        return NULL;
    if (!GAIT_ON)
        Py_RETURN_NONE;
    py_thread_ready();
    if (PyFloat_CheckExact(args[1]))
        (gait_count_real)(site, PyFloat_AS_DOUBLE(args[1]));
    else if (PyLong_Check(args[1]))
        count_int(site, args[1]);
    else
        count_other(site, args[1]);
    if (PyErr_Occurred()) // a value that would not be converted must not end a training
        PyErr_WriteUnraisable(args[1]);
    Py_RETURN_NONE;
}

PyObject *py_record_arg(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "arg() takes a key as str and a value");
        return NULL;
    }
    if (!GAIT_ON)
        Py_RETURN_NONE;
    PyObject *key = py_state_str(args[0], "arg", "key");
    if (!key)
        return NULL;
    py_thread_ready();
    py_args_record(module, key, args[1]);
    Py_DECREF(key);
    Py_RETURN_NONE;
}

typedef void record_id(uint32_t site, uint64_t id);

// What async and flow functions have in common: a place and an id. An id keeps
// its low 64 bits, so that hash() and id() serve.
static PyObject *record_with_id(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                const char *function, record_id *record)
{
    uint32_t site;
    if (count != 2 || !PyLong_Check(args[1])) {
        PyErr_Format(PyExc_TypeError, "%s() takes a name, site or span and an id as int", function);
        return NULL;
    }
    if (py_names_site(module, args[0], function, &site))
        return NULL;
    if (GAIT_ON) {
        py_thread_ready();
        record(site, PyLong_AsUnsignedLongLongMask(args[1]));
    }
    Py_RETURN_NONE;
}

PyObject *py_record_async_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return record_with_id(module, args, count, "async_begin", gait_async_begin);
}

PyObject *py_record_async_end(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return record_with_id(module, args, count, "async_end", gait_async_end);
}

PyObject *py_record_flow_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return record_with_id(module, args, count, "flow_begin", gait_flow_begin);
}

PyObject *py_record_flow_step(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return record_with_id(module, args, count, "flow_step", gait_flow_step);
}

PyObject *py_record_flow_end(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return record_with_id(module, args, count, "flow_end", gait_flow_end);
}
