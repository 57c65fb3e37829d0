// SPDX-License-Identifier: Apache-2.0
// Which phases are open on a thread is remembered here, for the recorder ends
// whatever is innermost.
#include "torch/py_phase_watch.h"

#define MOST_OPEN 16 // phases hide in one another long before

int py_phase_is_watched;

static PyObject *start, *stop, *names[PHASE_COUNT];
static _Thread_local struct {
    uint8_t phases[MOST_OPEN];
    uint8_t depth;
} opened;

static void call(PyObject *function, enum py_phase phase)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_INCREF(function); // another thread may end the watch meanwhile
    PyObject *result = PyObject_CallOneArg(function, names[phase]);
    Py_XDECREF(result);
    Py_DECREF(function);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

void py_phase_watch_begin(enum py_phase phase, const char *name)
{
    if (opened.depth < MOST_OPEN)
        opened.phases[opened.depth] = (uint8_t)phase;
    if (opened.depth++ >= MOST_OPEN)
        return;
    if (!names[phase] && phase != PHASE_CLOSURE) // no row of a table: it is no work by itself
        names[phase] = PyUnicode_InternFromString(name);
    if (names[phase])
        call(start, phase);
}

void py_phase_watch_end(void)
{
    if (!opened.depth) // began before anybody watched
        return;
    if (--opened.depth < MOST_OPEN && names[opened.phases[opened.depth]])
        call(stop, opened.phases[opened.depth]);
}

PyObject *py_phase_watch(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "_phase_watch() takes a start and a stop");
        return NULL;
    }
    py_phase_is_watched = args[0] != Py_None;
    Py_XSETREF(start, py_phase_is_watched ? Py_NewRef(args[0]) : NULL);
    Py_XSETREF(stop, py_phase_is_watched ? Py_NewRef(args[1]) : NULL);
    Py_RETURN_NONE;
}
