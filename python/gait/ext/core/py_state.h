// SPDX-License-Identifier: Apache-2.0
// What the extension keeps for one interpreter: its types, and the spans and
// argument keys it has met, by name.
#ifndef GAIT_PY_STATE_H
#define GAIT_PY_STATE_H

#include "core/py_compat.h"

#include <stdint.h>

struct span;

// The last spans asked for, found by the address of their names alone: the
// `"x"` of `gait.span("x")` is one object for the life of its code. Each line
// owns its names, so an address cannot come to mean another text.
#define RECENT_LINES 256
struct recent {
    PyObject *category, *name;
    struct span *span; // owned by `categories`
};

struct py_state {
    PyTypeObject *span_type, *bound_type, *decorated_type, *segments_type, *step_type, *hook_type;
    PyTypeObject *actions_type, *tracer_type;
    PyObject *python;        // "python", the category of who names none
    PyObject *categories;    // category -> {name -> span}
    PyObject *keys;          // name of an argument -> its number
    PyObject *counting_step; // one that nobody has now, or NULL
    Py_ssize_t span_count;
    uint64_t next_step;
    struct recent recent[RECENT_LINES];
};

// How many argument keys are kept; of the others the recorder is asked again.
#define PY_STATE_MAX_KEYS 4096

// For the slots of the module that deal with its state. init makes what needs no type.
int py_state_init(PyObject *module);
int py_state_traverse(PyObject *module, visitproc visit, void *arg);
int py_state_clear(PyObject *module);

// The state of the interpreter that runs; `module` is what METH_* functions of
// the module get as self.
static inline struct py_state *py_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

// `text` as an exact str (new reference), or NULL and a TypeError that says
// which `role` of `function` is meant.
PyObject *py_state_str(PyObject *text, const char *function, const char *role);

#endif
