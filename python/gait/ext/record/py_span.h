// SPDX-License-Identifier: Apache-2.0
// gait.span(...): a named stretch of time as a context manager and decorator.
// One object serves all threads and any depth of nesting, for what is open is
// kept by the recorder, not here.
#ifndef GAIT_PY_SPAN_H
#define GAIT_PY_SPAN_H

#include "core/py_compat.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/py_state.h"
#include "record/py_bound.h"

struct span {
    PyObject ob_base;
    uint32_t site;  // 0: the recorder had none to give so far
    int is_lasting; // kept by name, and then its bound sides are kept too: a
                    // passing span must not lie in a cycle and wait for the GC
    PyObject *module;
    PyObject *category, *name;
    PyObject *arguments;       // dict, or NULL: none
    PyObject *bound[PY_SIDES]; // what `with` calls, made when first asked for
};

int py_span_add_types(struct py_state *state);

// A new span that is not known by name. Takes exact str; `arguments` is NULL
// or a dict with str as keys.
struct span *py_span_create(PyObject *module, PyObject *category, PyObject *name,
                            PyObject *arguments);

// Asks the recorder for the site of a span that has none. Its number or 0.
uint32_t py_span_resolve(struct span *span);

// Begins and ends a span on this thread; the caller has seen GAIT_ON. They
// raise nothing; an exception that is set stays.
void py_span_begin(struct span *span);
void py_span_end(void);

// The same behind a call, with an exception set where it failed: one that leaves a phase
// is kept with which it was (gait/_failure.py).
void py_span_end_call(struct span *span, bool failed);
void py_span_failed(struct span *span, PyObject *error, PyObject *traceback);

#endif
