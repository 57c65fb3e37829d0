// SPDX-License-Identifier: Apache-2.0
// Python functions on record, for with_stack: while somebody holds it, what a
// tracer of its own hears of is written as asynchronous spans of the category
// python_function. Asynchronous, since a range of torch's may begin in one
// function and end in another. The GIL is held in all of these functions.
#ifndef GAIT_PY_FRAMES_H
#define GAIT_PY_FRAMES_H

#include "tracer/py_tracer.h"

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

// Around each event of a tracer that records: `depth` is what the stack had
// before. `is_call`: the frame is the one that begins with this event. A frame that
// costs something to ask for may be NULL.
size_t py_frames_before(struct tracer *tracer, struct stack *stack, PyFrameObject *frame,
                        int is_call);
void py_frames_after(struct stack *stack, size_t depth, PyFrameObject *frame);

// Is this code gait's own, so that what it calls is nobody's business?
int py_frames_is_own(const struct tracer *tracer, const PyObject *code);

// _frames_configure(Module.__call__'s code or None, own folder, path prefixes)
PyObject *py_frames_configure(PyObject *module, PyObject *const *args, Py_ssize_t count);

// _frames_hold() raises RuntimeError where there can be no tracer.
PyObject *py_frames_hold(PyObject *module, PyObject *unused);
PyObject *py_frames_leave(PyObject *module, PyObject *unused);

// In a child of fork().
PyObject *py_frames_forget(PyObject *module, PyObject *unused);

#endif
