// SPDX-License-Identifier: Apache-2.0
// What moves data between devices is a copy wherever it is. A cast is part of the
// computation inside a model or an optimizer, and a copy elsewhere.
#include "torch/py_copy.h"

#include "torch/py_hook.h"
#include "torch/py_phase.h"

static PyTypeObject *device_type;

PyObject *py_copy_device_type(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "the type of devices is a type");
        return NULL;
    }
    Py_XSETREF(device_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static bool is_device(PyObject *value)
{
    return PyUnicode_Check(value) || (device_type && Py_TYPE(value) == device_type);
}

static bool is_computing(void)
{
    const uint32_t computing =
        PHASE_BIT(PHASE_FORWARD) | PHASE_BIT(PHASE_BACKWARD) | PHASE_BIT(PHASE_OPTIMIZER);
    return py_phase_self.inside & computing;
}

static bool begin_copy(bool names_device)
{
    return (names_device || !is_computing()) && py_phase_begin(PHASE_COPY);
}

// x.to(device): to("cuda"), to(torch.device(…)), to(device=…).
static bool names_device(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < named; i++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "device"))
            return true;
    return count > 1 && is_device(args[1]);
}

PyObject *py_copy_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (!begin_copy(names_device(args, PyVectorcall_NARGS(nargsf), kwnames)))
        return py_hook_pass(self, args, nargsf, kwnames);
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    py_phase_end();
    return result;
}

bool py_copy_begin(PyObject *args, PyObject *kwargs)
{
    const bool is_named = kwargs && PyDict_GetItemString(kwargs, "device");
    return begin_copy(is_named ||
                      (PyTuple_GET_SIZE(args) > 0 && is_device(PyTuple_GET_ITEM(args, 0))));
}
