// SPDX-License-Identifier: Apache-2.0
// Argument conversion for the collector of torch's ops, which knows no Python.
#include "torch/py_torch.h"

#include <gait/internal/torch_binding.h>

PyObject *py_torch_attach(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    int status;
    Py_BEGIN_ALLOW_THREADS status = gait_torch_attach();
    Py_END_ALLOW_THREADS return PyBool_FromLong(!status);
}

PyObject *py_torch_guard(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    unsigned long long numbers[3];
    for (Py_ssize_t i = 0; i < 3; i++) {
        if (count != 3 || !PyLong_Check(args[i])) {
            PyErr_SetString(PyExc_TypeError, "guard(address, keys, avoided) takes ints");
            return NULL;
        }
        numbers[i] = PyLong_AsUnsignedLongLongMask(args[i]);
    }
    const void *tensor = (const void *)(uintptr_t)numbers[0];
    return PyBool_FromLong(!gait_torch_guard(tensor, numbers[1], numbers[2]));
}

PyObject *py_torch_learn(PyObject *module, PyObject *is_on)
{
    (void)module;
    const int is = PyObject_IsTrue(is_on);
    return is < 0 ? NULL : PyBool_FromLong(!gait_torch_learn(is));
}

PyObject *py_torch_ranges(PyObject *module, PyObject *is_on)
{
    (void)module;
    const int is = PyObject_IsTrue(is_on);
    return is < 0 ? NULL : PyBool_FromLong(!gait_torch_ranges(is));
}

PyObject *py_torch_lacks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const char *words = gait_torch_lacks();
    return PyUnicode_DecodeUTF8(words, (Py_ssize_t)strlen(words), "replace");
}

// With some room to spare, should a number have grown meanwhile.
PyObject *py_torch_describe(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const size_t room = gait_torch_describe(NULL, 0) + 64;
    char *text = PyMem_Malloc(room);
    if (!text)
        return PyErr_NoMemory();
    const size_t bytes = gait_torch_describe(text, room);
    PyObject *words =
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)(bytes < room ? bytes : room - 1), "replace");
    PyMem_Free(text);
    return words;
}

// None closes the window, a number opens one with these levels.
PyObject *py_torch_window(PyObject *module, PyObject *levels)
{
    (void)module;
    if (levels == Py_None)
        return PyBool_FromLong(!gait_torch_window_close());
    const long number = PyLong_AsLong(levels);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(!gait_torch_window_open((unsigned)number));
}
