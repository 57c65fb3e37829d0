// SPDX-License-Identifier: Apache-2.0
// A callable that stands in for a function or method of torch: calls it inside
// the span of a phase and says what the phase was about, or calls a function of
// gait's beside it. It passes for what it stands for wherever it is asked.
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
    PyObject *other; // what is called beside it, or NULL
    PyObject *weak_references;
};

int py_hook_add_type(struct py_state *state);

// Calls what the hook stands in for, as PyObject_Vectorcall() does, but for its check of
// the result, which whoever called the hook makes: a third of what a hook costs that has
// nothing to do.
static inline PyObject *py_hook_call(PyObject *self, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    PyObject *function = ((struct hook *)self)->function;
    const PyTypeObject *type = Py_TYPE(function);
    if (type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) {
        const char *place = (const char *)function + type->tp_vectorcall_offset;
        const vectorcallfunc call = *(const vectorcallfunc *)place;
        if (call)
            return call(function, args, nargsf, kwnames);
    }
    return PyObject_Vectorcall(function, args, nargsf, kwnames);
}

// The same where there is nothing to record.
static inline PyObject *py_hook_pass(PyObject *self, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    py_phase_timing.passed++;
    return py_hook_call(self, args, nargsf, kwnames);
}

// The same with the phase open on this thread.
static inline PyObject *py_hook_call_inside(PyObject *self, PyObject *const *args, size_t nargsf,
                                            PyObject *kwnames)
{
    struct hook *hook = (struct hook *)self;
    const uint32_t before = py_phase_enter(hook->phase);
    PyObject *result = py_hook_call(self, args, nargsf, kwnames);
    py_phase_leave(before);
    return result;
}

// A hook for the closure that an optimizer's step, for which `step` stands, calls. NULL
// and an exception when there is no memory.
PyObject *py_hook_closure(PyObject *step, PyObject *closure);

// Functions of the module.
// _hook(kind, function, other=None): kind is one of the names in the table of
// py_hook.c; other(*args[:1]) is for those that call something beside the function.
PyObject *py_hook(PyObject *module, PyObject *const *args, Py_ssize_t count);
// _hooked(hook): the function that it stands for.
PyObject *py_hook_function(PyObject *module, PyObject *hook);

#endif
