// SPDX-License-Identifier: Apache-2.0
// Which Python value becomes which kind of argument. Numbers stay numbers, all
// else is recorded as its str(): shapes, dtypes, paths, enums.
#include "record/py_args.h"

#include <gait/record.h>

#include "core/py_state.h"
#include "core/py_text.h"

// The number of a key, asked for once: later it is a dictionary hit.
static int find_key(PyObject *module, PyObject *name, uint32_t *ret_key)
{
    PyObject *keys = py_state_of(module)->keys;
    PyObject *known = PyDict_GetItemWithError(keys, name);
    if (known) {
        *ret_key = (uint32_t)PyLong_AsUnsignedLong(known);
        return 0;
    }
    struct py_text text;
    if (PyErr_Occurred() || py_text_init(&text, name))
        return -1;
    uint32_t key = gait_key(text.chars);
    py_text_finish(&text);
    *ret_key = key;
    if (!key || PyDict_GET_SIZE(keys) >= PY_STATE_MAX_KEYS)
        return 0;
    PyObject *number = PyLong_FromUnsignedLong(key);
    int failed = !number || PyDict_SetItem(keys, name, number);
    Py_XDECREF(number);
    return failed ? -1 : 0;
}

static void record_text(uint32_t key, PyObject *string)
{
    struct py_text text;
    if (!string || py_text_init(&text, string))
        return;
    gait_arg_text(key, text.chars);
    py_text_finish(&text);
}

static void record_str(uint32_t key, PyObject *value)
{
    PyObject *string = PyObject_Str(value);
    if (!string) {
        PyErr_Clear();
        string = PyUnicode_FromFormat("<%s: str() failed>", Py_TYPE(value)->tp_name);
    }
    record_text(key, string);
    Py_XDECREF(string);
}

static void record_int(uint32_t key, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) {
        gait_arg_int(key, number);
        return;
    }
    // str() refuses more than 4,300 digits since 3.11; hexadecimal has no limit
    PyObject *digits = PyObject_Str(value);
    if (!digits) {
        PyErr_Clear();
        digits = PyNumber_ToBase(value, 16);
    }
    record_text(key, digits);
    Py_XDECREF(digits);
}

// Is it of numbers.<abc>? NumPy registers its scalars there; tensors, whose
// value would have to be waited for, are not.
static int is_number(PyObject *value, const char *abc)
{
    PyObject *numbers = PyImport_ImportModule("numbers");
    PyObject *class = numbers ? PyObject_GetAttrString(numbers, abc) : NULL;
    int is = class ? PyObject_IsInstance(value, class) : 0;
    Py_XDECREF(class);
    Py_XDECREF(numbers);
    PyErr_Clear();
    return is == 1;
}

static void record_other(uint32_t key, PyObject *value)
{
    PyObject *number = NULL;
    if (PyIndex_Check(value) && is_number(value, "Integral")) {
        number = PyNumber_Index(value);
        if (number)
            record_int(key, number);
    } else if (is_number(value, "Real")) {
        number = PyNumber_Float(value);
        if (number)
            gait_arg_real(key, PyFloat_AS_DOUBLE(number));
    }
    if (!number) {
        PyErr_Clear();
        record_str(key, value);
    }
    Py_XDECREF(number);
}

static void record_value(uint32_t key, PyObject *value)
{
    if (PyLong_Check(value)) // True and False are 1 and 0
        record_int(key, value);
    else if (PyFloat_Check(value))
        gait_arg_real(key, PyFloat_AS_DOUBLE(value));
    else if (PyUnicode_Check(value))
        record_text(key, value);
    else
        record_other(key, value);
}

void py_args_record(PyObject *module, PyObject *key, PyObject *value)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    uint32_t number;
    if (!find_key(module, key, &number))
        record_value(number, value);
    PyErr_Clear();
    PyErr_Restore(type, error, traceback);
}

void py_args_record_all(PyObject *module, PyObject *arguments)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(arguments, &position, &key, &value))
        py_args_record(module, key, value);
}
