// SPDX-License-Identifier: Apache-2.0
// A Python text as the recorder wants it: bytes that end with the first NUL.
// Any str can be given: lone surrogates become the bytes they stand for (else
// bytes that are no UTF-8, which readers show as U+FFFD), a NUL inside becomes
// U+FFFD.
#ifndef GAIT_PY_TEXT_H
#define GAIT_PY_TEXT_H

#include "core/py_compat.h"

struct py_text {
    const char *chars;
    PyObject *owner; // bytes that hold the chars, or NULL: the str does
};

// `string` must be a str and outlive `text`. -1 and MemoryError when there is
// no memory.
int py_text_init(struct py_text *text, PyObject *string);
void py_text_finish(struct py_text *text);

#endif
