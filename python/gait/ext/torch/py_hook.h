// SPDX-License-Identifier: Apache-2.0
// A callable that stands in for a function or method of torch: calls it inside
// the span of a phase and says what the phase was about. It binds as methods do;
// names, docstring and __wrapped__ are put on it by gait/torch/wrap.py.
#ifndef GAIT_PY_HOOK_H
#define GAIT_PY_HOOK_H

#include "core/py_compat.h"

#include "core/py_state.h"
#include "torch/py_phase.h"

struct hook {
    PyObject ob_base;
    vectorcallfunc call;
    enum py_phase phase; // of those kinds that are called alike
    PyObject *function;
    PyObject *dict, *weak_references;
};

int py_hook_add_type(struct py_state *state);

// Calls what the hook stands in for.
static inline PyObject *py_hook_pass(PyObject *self, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    py_phase_timing.passed++;
    return PyObject_Vectorcall(((struct hook *)self)->function, args, nargsf, kwnames);
}

// The same with the phase open on this thread.
static inline PyObject *py_hook_call_inside(PyObject *self, PyObject *const *args, size_t nargsf,
                                            PyObject *kwnames)
{
    struct hook *hook = (struct hook *)self;
    uint32_t before = py_phase_self.inside;
    py_phase_self.inside = before | PHASE_BIT(hook->phase);
    py_phase_calls();
    PyObject *result = PyObject_Vectorcall(hook->function, args, nargsf, kwnames);
    py_phase_time_return();
    py_phase_self.inside = before;
    return result;
}

// Functions of the module.
// _hook(kind, function): kind is one of the names in the table of py_hook.c.
PyObject *py_hook(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
