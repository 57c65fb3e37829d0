// SPDX-License-Identifier: Apache-2.0
// How many samples and tokens a batch has is read off its shape: the first
// dimension of the first tensor in it, and all of its "input_ids".
#include "torch/py_loader.h"

#include <stdbool.h>
#include <stdint.h>

#include "schedule/py_schedule.h"
#include "torch/py_hook.h"
#include "torch/py_phase.h"

#define MAX_DEPTH 4 // of lists in dicts in lists
#define MAX_ITEMS 8 // looked at in each, for a tensor

static PyTypeObject *tensor_type;

PyObject *py_loader_tensor_type(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "the type of tensors is a type");
        return NULL;
    }
    Py_XSETREF(tensor_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static int64_t whole(PyObject *number)
{
    int64_t value = number && PyLong_Check(number) ? PyLong_AsLongLong(number) : -1;
    PyErr_Clear();
    return value;
}

static PyObject *shape_text; // "shape", interned

// The first dimension, and the product of all; -1 where there is none.
static int64_t measure(PyObject *tensor, int64_t *ret_elements)
{
    if (!shape_text)
        shape_text = PyUnicode_InternFromString("shape");
    PyObject *shape = shape_text ? PyObject_GetAttr(tensor, shape_text) : NULL;
    int64_t first = -1, elements = 1;
    if (shape && PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) > 0) {
        first = whole(PyTuple_GET_ITEM(shape, 0));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) {
            int64_t size = whole(PyTuple_GET_ITEM(shape, i));
            elements = size < 0 || elements > INT64_MAX / (size + 1) ? -1 : elements * size;
            if (elements < 0)
                break;
        }
    }
    PyErr_Clear();
    Py_XDECREF(shape);
    *ret_elements = first < 0 ? -1 : elements;
    return first;
}

static bool is_tensor(PyObject *object)
{
    return tensor_type && PyObject_TypeCheck(object, tensor_type);
}

static PyObject *first_tensor(PyObject *batch, int depth);

static PyObject *first_of_list(PyObject *list, int depth)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    PyObject *found = NULL;
    for (Py_ssize_t i = 0; !found && i < count && i < MAX_ITEMS; i++)
        found = first_tensor(PySequence_Fast_GET_ITEM(list, i), depth - 1);
    return found;
}

// Borrowed, or NULL. Only plain containers are entered: others run code of theirs.
static PyObject *first_tensor(PyObject *batch, int depth)
{
    if (is_tensor(batch))
        return batch;
    if (depth && (PyList_Check(batch) || PyTuple_Check(batch)))
        return first_of_list(batch, depth);
    if (!depth || !PyDict_Check(batch))
        return NULL;
    PyObject *key, *value, *found = NULL;
    Py_ssize_t position = 0;
    for (int i = 0; !found && i < MAX_ITEMS && PyDict_Next(batch, &position, &key, &value); i++)
        found = first_tensor(value, depth - 1);
    return found;
}

// The dict in a mapping of somebody's own (a UserDict keeps one as `data`): a new
// reference, or NULL.
static PyObject *dict_of(PyObject *batch)
{
    if (PyDict_Check(batch))
        return Py_NewRef(batch);
    if (PyList_Check(batch) || PyTuple_Check(batch) || is_tensor(batch))
        return NULL;
    PyObject *data = PyObject_GetAttrString(batch, "data");
    PyErr_Clear();
    if (data && PyDict_Check(data))
        return data;
    Py_XDECREF(data);
    return NULL;
}

static void record_size(PyObject *batch)
{
    PyObject *dict = dict_of(batch);
    PyObject *tensor = first_tensor(dict ? dict : batch, MAX_DEPTH);
    PyObject *ids = dict ? PyDict_GetItemString(dict, "input_ids") : NULL;
    int64_t elements;
    int64_t samples = tensor ? measure(tensor, &elements) : -1;
    if (samples >= 0)
        py_phase_arg(KEY_SAMPLES, samples);
    if (ids && is_tensor(ids) && measure(ids, &elements) >= 0 && elements >= 0)
        py_phase_arg(KEY_TOKENS, elements);
    Py_XDECREF(dict);
}

PyObject *py_loader_call_next(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    if (!PyVectorcall_NARGS(nargsf) || py_phase_is_hidden(PHASE_INPUT))
        return py_hook_pass(self, args, nargsf, kwnames);
    py_schedule_asking(args[0]); // a window that opens has all of the phase
    if (!py_phase_begin(PHASE_INPUT))
        return py_hook_pass(self, args, nargsf, kwnames);
    py_phase_arg_object(KEY_LOADER, args[0]);
    py_phase_arg(KEY_ASKS, 1);
    PyObject *batch = py_hook_call_inside(self, args, nargsf, kwnames);
    py_schedule_asked(args[0], batch != NULL);
    py_phase_arg(KEY_GOT, batch != NULL);
    if (batch)
        record_size(batch);
    py_phase_end();
    return batch;
}

PyObject *py_loader_call_iter(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    if (!PyVectorcall_NARGS(nargsf) || !py_phase_begin(PHASE_INPUT))
        return py_hook_pass(self, args, nargsf, kwnames);
    py_schedule_iterates(args[0]);
    py_phase_arg_object(KEY_LOADER, args[0]);
    py_phase_arg(KEY_ASKS, 0);
    PyObject *iterator = py_hook_call_inside(self, args, nargsf, kwnames);
    if (iterator)
        py_phase_arg_object(KEY_ITERATOR, iterator);
    py_schedule_iterated(iterator);
    py_phase_end();
    return iterator;
}
