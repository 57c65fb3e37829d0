// SPDX-License-Identifier: Apache-2.0
// The arbiter is gait/internal/windows.h. It calls a host on the thread that holds or
// leaves the window, which may not have the GIL: a program in C++ may do so, too.
#include "schedule/py_window.h"

#include <gait/internal/windows.h>
#include <gait/record.h>

#include "core/py_thread.h"

// Hosts are for good, and so is what they call.
struct host {
    PyObject *open, *close, *step; // step: NULL for none
};

// These functions say themselves why something cannot be had. `argument` may be NULL.
static bool call(PyObject *function, PyObject *argument)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = argument ? PyObject_CallFunctionObjArgs(function, argument, NULL)
                              : PyObject_CallNoArgs(function);
    const bool is_done = done && PyObject_IsTrue(done) == 1;
    Py_XDECREF(done);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return is_done;
}

static int open_host(void *context)
{
    const struct host *host = context;
    if (!Py_IsInitialized())
        return GAIT_ERR_STATE;
    const PyGILState_STATE gil = PyGILState_Ensure();
    const bool is_on = call(host->open, NULL);
    PyGILState_Release(gil);
    return is_on ? 0 : GAIT_ERR_STATE;
}

static void close_host(void *context)
{
    const struct host *host = context;
    if (!Py_IsInitialized())
        return;
    const PyGILState_STATE gil = PyGILState_Ensure();
    (void)call(host->close, NULL);
    PyGILState_Release(gil);
}

static void step_host(void *context, int64_t number)
{
    const struct host *host = context;
    if (!host->step || !Py_IsInitialized())
        return;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *object = PyLong_FromLongLong(number);
    if (object)
        (void)call(host->step, object);
    else
        PyErr_Clear();
    Py_XDECREF(object);
    PyGILState_Release(gil);
}

static int give_host(const char *name, struct host *host)
{
    const struct gait_collector_host given = {
        .size = sizeof(given),
        .open = open_host,
        .step = step_host,
        .close = close_host,
        .context = host,
    };
    return gait_collector_host(name, &given);
}

PyObject *py_window_host(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    const char *name = count == 4 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : NULL;
    if (!name) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "_window_host(collector, open, close, step)");
        return NULL;
    }
    struct host *host = PyMem_RawMalloc(sizeof(*host));
    if (!host)
        return PyErr_NoMemory();
    *host = (struct host){Py_NewRef(args[1]), Py_NewRef(args[2]),
                          args[3] == Py_None ? NULL : Py_NewRef(args[3])};
    if (give_host(name, host) == 0)
        Py_RETURN_NONE;
    Py_DECREF(host->open);
    Py_DECREF(host->close);
    Py_XDECREF(host->step);
    PyMem_RawFree(host);
    PyErr_SetString(PyExc_ValueError, gait_record_error());
    return NULL;
}

static void get_ready(void)
{
    if (GAIT_ON)
        py_thread_ready();
}

bool py_window_hold_for_run(unsigned levels)
{
    get_ready();
    return gait_window_hold_for_run(levels) == 0;
}

PyObject *py_window_hold(PyObject *module, PyObject *levels)
{
    (void)module;
    const unsigned long wanted = PyLong_AsUnsignedLong(levels);
    if (PyErr_Occurred())
        return NULL;
    get_ready();
    const int number = gait_window_hold((unsigned)wanted);
    if (number <= 0)
        Py_RETURN_NONE;
    return PyLong_FromLong(number);
}

PyObject *py_window_leave(PyObject *module, PyObject *number)
{
    (void)module;
    const long holder = PyLong_AsLong(number);
    if (PyErr_Occurred())
        return NULL;
    if (holder > GAIT_WINDOW_OF_RUN && holder <= INT32_MAX)
        (void)gait_window_leave((int)holder);
    Py_RETURN_NONE;
}
