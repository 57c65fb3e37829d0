// SPDX-License-Identifier: Apache-2.0
// What CPython 3.8 to 3.14 spell differently, in the newest spelling. Included
// before anything else by every file of the extension.
#ifndef GAIT_PY_COMPAT_H
#define GAIT_PY_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <structmember.h>
#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif

#if PY_VERSION_HEX < 0x03090000
#include <frameobject.h>
#define Py_SET_REFCNT(object, count) (Py_REFCNT(object) = (count))
#define PyObject_Vectorcall _PyObject_Vectorcall
#define Py_TPFLAGS_HAVE_VECTORCALL _Py_TPFLAGS_HAVE_VECTORCALL
static inline PyObject *PyObject_CallNoArgs(PyObject *callable)
{
    return _PyObject_Vectorcall(callable, NULL, 0, NULL);
}
static inline PyObject *PyObject_CallOneArg(PyObject *callable, PyObject *argument)
{
    return _PyObject_Vectorcall(callable, &argument, 1, NULL);
}
static inline PyFrameObject *PyFrame_GetBack(PyFrameObject *frame)
{
    Py_XINCREF(frame->f_back);
    return frame->f_back;
}
static inline PyCodeObject *PyFrame_GetCode(PyFrameObject *frame)
{
    Py_INCREF(frame->f_code);
    return frame->f_code;
}
#define VISIT_TYPE_OF(self) ((void)0) // the type is visited by subtype_traverse before 3.9
#else
#define VISIT_TYPE_OF(self) Py_VISIT(Py_TYPE(self))
#endif

#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *new_reference(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#define Py_NewRef(object) new_reference((PyObject *)(object))
#endif

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

// The value of an int from 0 to 2**30 - 1, which is one digit; else UINT32_MAX.
static inline uint32_t small_int(PyObject *number)
{
#if PY_VERSION_HEX >= 0x030C0000
    const PyLongObject *digits = (const PyLongObject *)number;
    if (!PyUnstable_Long_IsCompact(digits) || PyUnstable_Long_CompactValue(digits) < 0)
        return UINT32_MAX;
    return (uint32_t)PyUnstable_Long_CompactValue(digits);
#else
    if (Py_SIZE(number) != 1)
        return Py_SIZE(number) ? UINT32_MAX : 0;
    return ((const PyLongObject *)number)->ob_digit[0];
#endif
}

// A function as PyMethodDef wants it: one cast, in one place.
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

#endif
