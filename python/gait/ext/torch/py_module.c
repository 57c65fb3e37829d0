// SPDX-License-Identifier: Apache-2.0
// A root is a module that no other module's call encloses. Modules that only
// hold another (DDP, a compiled module) are recorded as the one they hold, for
// that one is told to train and to evaluate.
#include "torch/py_module.h"

#include <stdbool.h>
#include <stdint.h>

#include "schedule/py_schedule.h"
#include "torch/py_hook.h"
#include "torch/py_phase.h"

#define MAX_WRAPPERS 4 // around each other

static PyObject *wrappers; // type -> name of the attribute that holds the module

PyObject *py_module_wrapper(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyType_Check(args[0]) || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "wrapper(type, attribute) takes a type and a str");
        return NULL;
    }
    if (!wrappers && !(wrappers = PyDict_New()))
        return NULL;
    if (PyDict_SetItem(wrappers, args[0], args[1]))
        return NULL;
    Py_RETURN_NONE;
}

// The module inside, a new reference.
static PyObject *unwrap(PyObject *module)
{
    Py_INCREF(module);
    for (int i = 0; wrappers && i < MAX_WRAPPERS; i++) {
        PyObject *attribute = PyDict_GetItem(wrappers, (PyObject *)Py_TYPE(module));
        PyObject *inner = attribute ? PyObject_GetAttr(module, attribute) : NULL;
        if (!inner)
            break;
        Py_SETREF(module, inner);
    }
    PyErr_Clear();
    return module;
}

static PyObject *training_text; // "training", interned

static bool is_training(PyObject *module)
{
    if (!training_text)
        training_text = PyUnicode_InternFromString("training");
    PyObject *flag = training_text ? PyObject_GetAttr(module, training_text) : NULL;
    bool is = flag && PyObject_IsTrue(flag) == 1;
    Py_XDECREF(flag);
    PyErr_Clear();
    return is;
}

static void record_module(PyObject *given)
{
    PyObject *module = unwrap(given);
    py_phase_arg_object(KEY_MODULE, module);
    py_phase_arg(KEY_TRAINING, is_training(module));
    Py_DECREF(module);
}

// Apart, so that the way of a layer saves no registers.
__attribute__((noinline)) static PyObject *call_root(PyObject *self, PyObject *const *args,
                                                     size_t nargsf, PyObject *kwnames)
{
    if (PyVectorcall_NARGS(nargsf))
        py_schedule_working(args[0]); // a window opens and closes between two steps
    if (!PyVectorcall_NARGS(nargsf) || !py_phase_begin(PHASE_FORWARD))
        return py_hook_pass(self, args, nargsf, kwnames);
    record_module(args[0]);
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    py_phase_end();
    return result;
}

PyObject *py_module_call_forward(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames)
{
    if (py_phase_is_hidden(PHASE_FORWARD)) // most are layers
        return py_hook_pass(self, args, nargsf, kwnames);
    return call_root(self, args, nargsf, kwnames);
}

// train(mode=True)
static bool mode_of(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    bool is_named = kwnames && PyTuple_GET_SIZE(kwnames) == 1;
    if (count < 2 && !is_named)
        return true;
    bool is = PyObject_IsTrue(args[1]) != 0;
    PyErr_Clear();
    return is;
}

PyObject *py_module_call_train(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (!count || py_phase_self.walk) {
        // train() of the whole takes back what eval() of a part has told
        if (count && py_phases_evaluated && mode_of(args, count, kwnames))
            py_phase_evaluation(args[0], false);
        return py_hook_pass(self, args, nargsf, kwnames);
    }
    bool mode = mode_of(args, count, kwnames);
    py_phase_self.walk = 1;
    PyObject *module = unwrap(args[0]);
    if (!mode)
        py_phase_evaluation(module, true);
    PyObject *result = py_hook_pass(self, args, nargsf, kwnames);
    if (mode)
        py_phase_evaluation(module, false);
    Py_DECREF(module);
    py_phase_self.walk = 0;
    return result;
}
