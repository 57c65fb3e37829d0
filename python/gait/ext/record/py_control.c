// SPDX-License-Identifier: Apache-2.0
// Start, stop and what is said once. What may wait for the disk is called
// without the GIL.
#include "record/py_control.h"

#include <gait/record.h>

#include "core/py_text.h"
#include "core/py_thread.h"

// --- start ---

struct start_options {
    struct gait_options options;
    PyObject *directory; // bytes, or NULL
    const char *overflow, *role;
    unsigned long long ring_bytes;
    long long subject_pid;
};

static int parse_options(PyObject *args, PyObject *kwargs, struct start_options *start)
{
    static const char *const names[] = {"directory", "overflow",    "ring_bytes",
                                        "role",      "subject_pid", NULL};
    PyObject *directory = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$zKzL:start", (char **)names, &directory,
                                     &start->overflow, &start->ring_bytes, &start->role,
                                     &start->subject_pid))
        return -1;
    if (directory && directory != Py_None && !PyUnicode_FSConverter(directory, &start->directory))
        return -1;
    start->options = (struct gait_options){
        .size = sizeof(struct gait_options),
        .directory = start->directory ? PyBytes_AS_STRING(start->directory) : NULL,
        .overflow = start->overflow,
        .ring_bytes = start->ring_bytes,
        .role = start->role,
        .subject_pid = start->subject_pid,
    };
    return 0;
}

// Of a worker its parent says it. Where it cannot be told it is missing.
static void tell_packages(void)
{
    PyObject *module = PyImport_ImportModule("gait._packages");
    PyObject *done = module ? PyObject_CallMethod(module, "tell", NULL) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(module);
    PyErr_Clear();
}

PyObject *py_control_start(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    struct start_options start = {.directory = NULL};
    if (parse_options(args, kwargs, &start))
        return NULL;
    int result;
    Py_BEGIN_ALLOW_THREADS result = gait_start(&start.options);
    Py_END_ALLOW_THREADS if (!result) py_thread_start_recording();
    Py_XDECREF(start.directory);
    if (GAIT_ON && !result && !(start.role && !strcmp(start.role, "worker")))
        tell_packages();
    return PyBool_FromLong(!result);
}

// --- the rest ---

PyObject *py_control_stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    int result;
    py_thread_tell_names();
    Py_BEGIN_ALLOW_THREADS result = gait_stop();
    Py_END_ALLOW_THREADS return PyBool_FromLong(!result);
}

PyObject *py_control_flush(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    int result;
    py_thread_tell_names();
    Py_BEGIN_ALLOW_THREADS result = gait_flush();
    Py_END_ALLOW_THREADS return PyBool_FromLong(!result);
}

PyObject *py_control_snapshot(PyObject *module, PyObject *path)
{
    (void)module;
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    int result;
    py_thread_tell_names();
    Py_BEGIN_ALLOW_THREADS result = gait_snapshot(PyBytes_AS_STRING(bytes));
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    return PyBool_FromLong(!result);
}

PyObject *py_control_recording(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(GAIT_ON);
}

PyObject *py_control_last_error(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const char *words = gait_record_error();
    return PyUnicode_DecodeUTF8(words, (Py_ssize_t)strlen(words), "replace");
}

PyObject *py_control_shard_path(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const char *path = gait_shard_path();
    if (!path)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

PyObject *py_control_thread_name(PyObject *module, PyObject *name)
{
    (void)module;
    struct py_text text;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "thread_name() takes a str, not '%s'",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    py_thread_ready(); // else the name that `threading` has would come later and count
    if (py_text_init(&text, name))
        return NULL;
    int result = gait_thread_name(text.chars);
    py_text_finish(&text);
    return PyBool_FromLong(!result);
}

PyObject *py_control_tell_names(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    py_thread_tell_names();
    Py_RETURN_NONE;
}

PyObject *py_control_metadata(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct py_text key, json;
    if (count != 2 || !PyUnicode_Check(args[0]) || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "metadata() takes its key as str");
        return NULL;
    }
    if (py_text_init(&key, args[0]))
        return NULL;
    if (py_text_init(&json, args[1])) {
        py_text_finish(&key);
        return NULL;
    }
    int result = gait_metadata(key.chars, json.chars);
    py_text_finish(&json);
    py_text_finish(&key);
    return PyBool_FromLong(!result);
}

PyObject *py_control_rank(PyObject *module, PyObject *rank)
{
    (void)module;
    PyObject *exact = PyNumber_Index(rank);
    if (!exact)
        return NULL;
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(exact, &overflow);
    Py_DECREF(exact);
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "rank() takes an int of 64 bits");
        return NULL;
    }
    return PyBool_FromLong(!gait_rank(number));
}
