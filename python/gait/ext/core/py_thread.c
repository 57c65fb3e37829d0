// SPDX-License-Identifier: Apache-2.0
// Names of threads, looked up in `threading` only when somebody else imported
// it. Threads that Python did not start keep the name the system knows.
//
// A thread is asked for its name before its first record from Python, and when it ends.
// One that records from C code alone (ops of torch) cannot be asked there, for it need not
// hold the GIL: it counts as a new recording, so that whoever records from Python next
// looks for its name. All are asked again at the end.
#include "core/py_thread.h"

#include <pthread.h>
#include <stdbool.h>

#include <gait/record.h>

#include "core/py_text.h"

#define END_KEY "gait: the end of a thread"

enum { NAME_MOST = 1000 }; // characters

_Atomic uint32_t py_thread_recording = 1;
_Thread_local uint32_t py_thread_named;
static atomic_bool has_nameless;

void py_thread_start_recording(void)
{
    atomic_fetch_add_explicit(&py_thread_recording, 1, memory_order_relaxed);
}

// Called in each thread before its first record. One that is about to be asked for its
// name is no matter here.
static void note_thread(void)
{
    if (py_thread_named == atomic_load_explicit(&py_thread_recording, memory_order_relaxed))
        return;
    atomic_store(&has_nameless, true);
    py_thread_start_recording();
}

void py_thread_init(void)
{
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&is_done))
        return;
    pthread_atfork(NULL, NULL, py_thread_start_recording);
    gait_on_thread(note_thread);
}

// What the thread is called now. The attribute itself: what a subclass makes of it is code
// of the program's.
static void tell_name(int64_t number, PyObject *thread)
{
    PyObject *whole = PyObject_GetAttrString(thread, "_name");
    PyObject *name =
        whole && PyUnicode_Check(whole) ? PyUnicode_Substring(whole, 0, NAME_MOST) : NULL;
    struct py_text text;
    if (name && !py_text_init(&text, name)) {
        (void)gait_thread_name_of(number, text.chars);
        py_text_finish(&text);
    }
    Py_XDECREF(name);
    Py_XDECREF(whole);
    PyErr_Clear();
}

static PyObject *find_active(void)
{
    PyObject *key = PyUnicode_InternFromString("threading");
    PyObject *threading = key ? PyImport_GetModule(key) : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    Py_XDECREF(key);
    Py_XDECREF(threading);
    return active;
}

// threading._active[get_ident()], not current_thread(): that one would invent
// a Thread object for a thread which is none of Python's.
static PyObject *find_thread(PyObject *active)
{
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = ident && active ? PyObject_GetItem(active, ident) : NULL;
    Py_XDECREF(ident);
    return thread;
}

// A forked child's main thread has its parent's number there, which is nobody's here.
static void tell_names(PyObject *active)
{
    PyObject *threads = active ? PyMapping_Values(active) : NULL;
    for (Py_ssize_t i = 0; threads && i < PyList_GET_SIZE(threads); i++) {
        PyObject *thread = PyList_GET_ITEM(threads, i);
        PyObject *number = PyObject_GetAttrString(thread, "_native_id");
        const long long native = number && PyLong_Check(number) ? PyLong_AsLongLong(number) : 0;
        if (native > 0)
            tell_name(native, thread);
        Py_XDECREF(number);
        PyErr_Clear();
    }
    Py_XDECREF(threads);
}

// The dict of a thread's state goes when the thread has run, in that thread; those of
// threads that a fork or the interpreter's end took away go in another one.
static void on_end(PyObject *capsule)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *thread = PyCapsule_GetPointer(capsule, END_KEY);
    const unsigned long ident = (unsigned long)(uintptr_t)PyCapsule_GetContext(capsule);
    if (ident == PyThread_get_thread_ident() && !Py_IsFinalizing())
        tell_name((int64_t)PyThread_get_thread_native_id(), thread);
    Py_DECREF(thread);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static void ask_at_end(PyObject *thread)
{
    PyObject *dict = PyThreadState_GetDict(); // borrowed
    if (!dict || PyDict_GetItemString(dict, END_KEY))
        return;
    PyObject *capsule = PyCapsule_New(thread, END_KEY, on_end);
    if (!capsule)
        return;
    Py_INCREF(thread);
    PyCapsule_SetContext(capsule, (void *)(uintptr_t)PyThread_get_thread_ident());
    PyDict_SetItemString(dict, END_KEY, capsule);
    Py_DECREF(capsule);
}

void py_thread_introduce(void)
{
    // first of all, for the look-up may run Python code that records
    py_thread_named = atomic_load_explicit(&py_thread_recording, memory_order_relaxed);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *active = find_active();
    PyErr_Clear();
    PyObject *thread = find_thread(active);
    PyErr_Clear();
    if (thread) {
        tell_name(0, thread);
        ask_at_end(thread);
    }
    if (atomic_exchange(&has_nameless, false))
        tell_names(active);
    Py_XDECREF(thread);
    Py_XDECREF(active);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

void py_thread_tell_names(void)
{
    if (!GAIT_ON)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *active = find_active();
    PyErr_Clear();
    PyObject *thread = find_thread(active);
    PyErr_Clear();
    tell_names(active);
    if (thread) // a forked child's main thread, too
        tell_name((int64_t)PyThread_get_thread_native_id(), thread);
    Py_XDECREF(thread);
    Py_XDECREF(active);
    PyErr_Restore(type, value, traceback);
}
