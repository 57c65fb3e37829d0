// SPDX-License-Identifier: Apache-2.0
// One span for the outermost of nested steps. Optimizers that only hold another
// one (accelerate's) step when that one does; a gradient scaler's step counts
// even when it finds infinities and leaves the weights alone.
#include "torch/py_optimizer.h"

#include <stdbool.h>
#include <string.h>

#include "schedule/py_schedule.h"
#include "torch/py_hook.h"
#include "torch/py_phase.h"

#define MAX_PLAIN 8     // told apart; a training has one or two
#define MAX_ARGUMENTS 8 // of a step with a closure; with more it is left as it is

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

// Where the closure of step(self, closure) is among the arguments, 0 where none is.
static Py_ssize_t find_closure(PyObject *const *args, Py_ssize_t count, PyObject *kwnames)
{
    Py_ssize_t at = count >= 2;
    for (Py_ssize_t i = 0; kwnames && !at && i < PyTuple_GET_SIZE(kwnames); i++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "closure"))
            at = count + i;
    return at && PyCallable_Check(args[at]) ? at : 0;
}

// What a closure does is not the optimizer's work: it has a span of its own. Lightning
// runs the whole training step in one.
static PyObject *call_step(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    const Py_ssize_t all = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    const Py_ssize_t at = all <= MAX_ARGUMENTS ? find_closure(args, count, kwnames) : 0;
    if (!at)
        return py_hook_call_inside(self, args, nargsf, kwnames);
    PyObject *closure = py_hook_closure(self, args[at]);
    if (!closure) {
        PyErr_Clear();
        return py_hook_call_inside(self, args, nargsf, kwnames);
    }
    PyObject *with[MAX_ARGUMENTS];
    memcpy(with, args, (size_t)all * sizeof(*with));
    with[at] = closure;
    PyObject *result = py_hook_call_inside(self, with, (size_t)count, kwnames);
    Py_DECREF(closure);
    return result;
}

// Of a CUDA graph: what is called meanwhile only happens when the graph is replayed.
static struct {
    bool is_on, has_steps;
} capture;

static bool is_captured(void)
{
    capture.has_steps |= capture.is_on;
    return capture.is_on;
}

PyObject *py_optimizer_capture(PyObject *module, PyObject *begins)
{
    (void)module;
    const bool had_steps = capture.is_on && capture.has_steps;
    capture.is_on = begins == Py_True;
    capture.has_steps = false;
    return PyBool_FromLong(had_steps);
}

PyObject *py_optimizer_call_step(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames)
{
    if (!PyVectorcall_NARGS(nargsf) || is_captured() || !py_phase_begin(PHASE_OPTIMIZER)) {
        py_phase_self.steps++;
        return py_hook_pass(self, args, nargsf, kwnames);
    }
    PyObject *optimizer = args[0];
    py_schedule_stepping(optimizer);
    py_phase_arg_object(KEY_OPTIMIZER, optimizer);
    py_phase_self.steps = 0;
    PyObject *result = call_step(self, args, nargsf, kwnames);
    bool stepped = does_itself(optimizer, py_phase_self.steps);
    if (stepped)
        py_phase_arg(KEY_STEPS, 1);
    py_phase_end();
    if (stepped)
        py_schedule_stepped(optimizer);
    return result;
}

// A step whatever comes of it; NULL: it is none.
static PyObject *call_as_step_of(PyObject *optimizer, PyObject *self, PyObject *const *args,
                                 size_t nargsf, PyObject *kwnames)
{
    if (!optimizer || !py_phase_begin(PHASE_OPTIMIZER)) {
        py_phase_self.steps += optimizer != NULL;
        return py_hook_pass(self, args, nargsf, kwnames);
    }
    py_schedule_stepping(optimizer);
    py_phase_arg_object(KEY_OPTIMIZER, optimizer);
    py_phase_arg(KEY_STEPS, 1);
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    py_phase_end();
    py_schedule_stepped(optimizer);
    return result;
}

PyObject *py_optimizer_call_scaler(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames)
{
    const bool is_step = PyVectorcall_NARGS(nargsf) >= 2 && !is_captured();
    return call_as_step_of(is_step ? args[1] : NULL, self, args, nargsf, kwnames);
}

PyObject *py_optimizer_call_replay(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames)
{
    PyObject *graph = PyVectorcall_NARGS(nargsf) ? args[0] : NULL;
    PyObject *has_steps = graph ? PyObject_CallOneArg(((struct hook *)self)->other, graph) : NULL;
    const bool is_step = has_steps == Py_True;
    if (graph && !has_steps)
        PyErr_Clear();
    Py_XDECREF(has_steps);
    return call_as_step_of(is_step ? graph : NULL, self, args, nargsf, kwnames);
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
