// SPDX-License-Identifier: Apache-2.0
// Names of threads, looked up in `threading` only when somebody else imported
// it. Threads that Python did not start keep the name the system knows.
#include "core/py_thread.h"

#include <pthread.h>

#include <gait/record.h>

#include "core/py_text.h"

_Atomic uint32_t py_thread_recording = 1;
_Thread_local uint32_t py_thread_named;

void py_thread_start_recording(void)
{
    atomic_fetch_add_explicit(&py_thread_recording, 1, memory_order_relaxed);
}

void py_thread_init(void)
{
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_done))
        pthread_atfork(NULL, NULL, py_thread_start_recording);
}

// threading._active[get_ident()], not current_thread(): that one would invent
// a Thread object for a thread which is none of Python's.
static PyObject *find_thread(PyObject *threading)
{
    PyObject *active = PyObject_GetAttrString(threading, "_active");
    if (!active)
        return NULL;
    PyObject *thread = NULL;
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    if (ident)
        thread = PyObject_GetItem(active, ident);
    Py_XDECREF(ident);
    Py_DECREF(active);
    return thread;
}

static PyObject *find_name(void)
{
    PyObject *key = PyUnicode_InternFromString("threading");
    PyObject *threading = key ? PyImport_GetModule(key) : NULL;
    Py_XDECREF(key);
    if (!threading)
        return NULL;
    PyObject *thread = find_thread(threading);
    Py_DECREF(threading);
    PyObject *name = thread ? PyObject_GetAttrString(thread, "name") : NULL;
    Py_XDECREF(thread);
    return name;
}

void py_thread_introduce(void)
{
    // first of all, for the look-up may run Python code that records
    py_thread_named = atomic_load_explicit(&py_thread_recording, memory_order_relaxed);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = find_name();
    struct py_text text;
    if (name && PyUnicode_Check(name) && !py_text_init(&text, name)) {
        (void)gait_thread_name(text.chars);
        py_text_finish(&text);
    }
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
