// SPDX-License-Identifier: Apache-2.0
// Its life: what is in it is made by the folders that it is about (native.c).
#include "core/py_state.h"

PyObject *py_state_str(PyObject *text, const char *function, const char *role)
{
    if (PyUnicode_CheckExact(text))
        return Py_NewRef(text);
    if (PyUnicode_Check(text))
        return PyUnicode_FromObject(text);
    PyErr_Format(PyExc_TypeError, "%s() takes its %s as str, not '%s'", function, role,
                 Py_TYPE(text)->tp_name);
    return NULL;
}

int py_state_init(PyObject *module)
{
    struct py_state *state = py_state_of(module);
    state->python = PyUnicode_InternFromString("python");
    state->categories = PyDict_New();
    state->keys = PyDict_New();
    return state->python && state->categories && state->keys ? 0 : -1;
}

int py_state_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct py_state *state = py_state_of(module);
    if (!state)
        return 0;
    Py_VISIT(state->span_type);
    Py_VISIT(state->bound_type);
    Py_VISIT(state->decorated_type);
    Py_VISIT(state->segments_type);
    Py_VISIT(state->step_type);
    Py_VISIT(state->hook_type);
    Py_VISIT(state->actions_type);
    Py_VISIT(state->tracer_type);
    Py_VISIT(state->categories);
    Py_VISIT(state->counting_step);
    return 0;
}

int py_state_clear(PyObject *module)
{
    struct py_state *state = py_state_of(module);
    if (!state)
        return 0;
    for (size_t i = 0; i < RECENT_LINES; i++) {
        state->recent[i].span = NULL;
        Py_CLEAR(state->recent[i].name);
        Py_CLEAR(state->recent[i].category);
    }
    Py_CLEAR(state->counting_step);
    Py_CLEAR(state->categories);
    Py_CLEAR(state->keys);
    Py_CLEAR(state->python);
    Py_CLEAR(state->span_type);
    Py_CLEAR(state->bound_type);
    Py_CLEAR(state->decorated_type);
    Py_CLEAR(state->segments_type);
    Py_CLEAR(state->step_type);
    Py_CLEAR(state->hook_type);
    Py_CLEAR(state->actions_type);
    Py_CLEAR(state->tracer_type);
    return 0;
}
