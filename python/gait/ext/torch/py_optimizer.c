// SPDX-License-Identifier: Apache-2.0
// One span for the outermost of nested steps. Optimizers that only hold another
// one (accelerate's) step when that one does; a gradient scaler's step counts
// even when it finds infinities and leaves the weights alone.
#include "torch/py_optimizer.h"

#include <stdbool.h>

#include "schedule/py_schedule.h"
#include "torch/py_hook.h"
#include "torch/py_phase.h"

#define MAX_PLAIN 8 // told apart; a training has one or two

// Does it hold an optimizer as `optimizer`, as wrappers do?
static bool asks_wrapper(PyObject *optimizer)
{
    PyObject *inner = PyObject_GetAttrString(optimizer, "optimizer");
    PyErr_Clear();
    PyObject *groups = inner ? PyObject_GetAttrString(inner, "param_groups") : NULL;
    PyErr_Clear();
    bool is = groups != NULL;
    Py_XDECREF(groups);
    Py_XDECREF(inner);
    return is;
}

// Those that do not are remembered: to ask raises an AttributeError, of which a step
// would feel some 5 us. An address is of no use without the type it had.
static bool is_wrapper(PyObject *optimizer)
{
    static struct {
        const PyObject *object;
        const PyTypeObject *type;
    } plain[MAX_PLAIN];
    static unsigned next;
    for (unsigned i = 0; i < MAX_PLAIN; i++)
        if (plain[i].object == optimizer && plain[i].type == Py_TYPE(optimizer))
            return false;
    if (asks_wrapper(optimizer))
        return true;
    plain[next].object = optimizer;
    plain[next].type = Py_TYPE(optimizer);
    next = (next + 1) % MAX_PLAIN;
    return false;
}

// Whether a call did what it is called, or handed it on to one that did; between
// two batches of which the gradients are gathered a wrapper does nothing.
static bool does_itself(PyObject *optimizer, bool has_handed_on)
{
    if (has_handed_on)
        return true;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool does = !is_wrapper(optimizer);
    PyErr_Restore(type, value, traceback);
    return does;
}

PyObject *py_optimizer_call_step(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames)
{
    if (!PyVectorcall_NARGS(nargsf) || !py_phase_begin(PHASE_OPTIMIZER)) {
        py_phase_self.steps++;
        return py_hook_pass(self, args, nargsf, kwnames);
    }
    PyObject *optimizer = args[0];
    py_schedule_stepping(optimizer);
    py_phase_arg_object(KEY_OPTIMIZER, optimizer);
    py_phase_self.steps = 0;
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    bool stepped = does_itself(optimizer, py_phase_self.steps);
    if (stepped)
        py_phase_arg(KEY_STEPS, 1);
    py_phase_end();
    if (stepped)
        py_schedule_stepped(optimizer);
    return result;
}

PyObject *py_optimizer_call_scaler(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames)
{
    if (PyVectorcall_NARGS(nargsf) < 2 || !py_phase_begin(PHASE_OPTIMIZER)) {
        py_phase_self.steps++;
        return py_hook_pass(self, args, nargsf, kwnames);
    }
    PyObject *optimizer = args[1];
    py_schedule_stepping(optimizer);
    py_phase_arg_object(KEY_OPTIMIZER, optimizer);
    py_phase_arg(KEY_STEPS, 1);
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    py_phase_end();
    py_schedule_stepped(optimizer);
    return result;
}

PyObject *py_optimizer_call_other(PyObject *self, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames)
{
    if (!PyVectorcall_NARGS(nargsf) || !py_phase_begin(PHASE_OPTIMIZER)) {
        py_phase_self.zeroes = 1;
        return py_hook_pass(self, args, nargsf, kwnames);
    }
    PyObject *optimizer = args[0];
    py_schedule_clearing(optimizer);
    py_phase_arg_object(KEY_OPTIMIZER, optimizer);
    py_phase_self.zeroes = 0;
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    if (does_itself(optimizer, py_phase_self.zeroes))
        py_phase_arg(KEY_STEPS, 0);
    py_phase_end();
    return result;
}
