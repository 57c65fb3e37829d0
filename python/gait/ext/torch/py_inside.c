// SPDX-License-Identifier: Apache-2.0
// torch hands methods of tensors to __torch_function__ and looks for them in lists of
// its own, so no other object may stand in their place. A function of C knows what it
// calls by a PyMethodDef; it gets another one, with a function of ours that calls
// torch's.
#include "torch/py_inside.h"

#include <stdbool.h>

#include "torch/py_collective.h"
#include "torch/py_copy.h"
#include "torch/py_phase.h"

typedef PyObject *(*fast_function)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

struct inside {
    PyCFunction function;   // torch's; NULL: nobody has this place
    const PyObject *self;   // of a function: what it is given first
    PyMethodDef *torchs;    // the one that stands there without us
    PyMethodDef definition; // as torch's, with ours
};

#define AS(type, function) ((type)(void (*)(void))(function))

static PyObject *first_of(PyObject *args)
{
    return PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
}

static PyObject *call_phase(const struct inside *place, enum py_phase phase,
                            PyObject *const given[3])
{
    const PyCFunctionWithKeywords function = AS(PyCFunctionWithKeywords, place->function);
    struct py_collective call = {0};
    if (phase == PHASE_COMMUNICATION)
        call = py_collective_count(place->definition.ml_name, first_of(given[1]));
    const bool begins =
        phase == PHASE_COPY ? py_copy_begin(given[1], given[2]) : py_phase_begin(phase);
    if (!begins) {
        py_phase_timing.passed++;
        return function(given[0], given[1], given[2]);
    }
    py_collective_put(&call);
    const uint32_t before = py_phase_enter(phase);
    PyObject *result = function(given[0], given[1], given[2]);
    py_phase_leave(before);
    py_phase_end();
    py_collective_left(&call, result);
    return result;
}

// A method is not told which one it is called as: each has a function of its own.
#define METHODS(X) X(0) X(1) X(2) X(3)
static struct inside methods[];

#define CALL(number)                                                                               \
    static PyObject *call_##number(PyObject *self, PyObject *args, PyObject *kwargs)               \
    {                                                                                              \
        return call_phase(&methods[number], PHASE_COPY, (PyObject *const[]){self, args, kwargs});  \
    }
METHODS(CALL)

#define METHOD_OF(number) {.definition = {.ml_meth = METHOD(call_##number)}},
static struct inside methods[] = {METHODS(METHOD_OF)};

// A function of pybind11 is given a record of its own, by which it is known.
#define MAX_FUNCTIONS 64
static struct inside functions[MAX_FUNCTIONS];

static const struct inside *place_of(const PyObject *self)
{
    for (size_t i = 0; i < MAX_FUNCTIONS; i++)
        if (functions[i].self == self)
            return &functions[i];
    PyErr_SetString(PyExc_SystemError, "gait does not know the function that it is inside of");
    return NULL;
}

static PyObject *call_function(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const struct inside *place = place_of(self);
    PyObject *const given[] = {self, args, kwargs};
    return place ? call_phase(place, PHASE_COMMUNICATION, given) : NULL;
}

// As pybind11 has it from 3.0 on.
static PyObject *call_fast(PyObject *self, PyObject *const *args, Py_ssize_t count,
                           PyObject *kwnames)
{
    const struct inside *place = place_of(self);
    if (!place)
        return NULL;
    const fast_function function = AS(fast_function, place->function);
    const struct py_collective call =
        py_collective_count(place->definition.ml_name, count ? args[0] : NULL);
    if (!py_phase_begin(PHASE_COMMUNICATION)) {
        py_phase_timing.passed++;
        return function(self, args, count, kwnames);
    }
    py_collective_put(&call);
    const uint32_t before = py_phase_enter(PHASE_COMMUNICATION);
    PyObject *result = function(self, args, count, kwnames);
    py_phase_leave(before);
    py_phase_end();
    py_collective_left(&call, result);
    return result;
}

// The one that was taken out of this function, else an unused one. A place is never
// another function's: a call that is under way may still look into it.
static struct inside *choose(struct inside *places, size_t count, const PyMethodDef *torchs)
{
    for (size_t i = 0; i < count; i++)
        if (!places[i].function || places[i].torchs == torchs)
            return &places[i];
    return NULL;
}

static struct inside *ours(const PyMethodDef *definition)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (definition == &methods[i].definition)
            return &methods[i];
    for (size_t i = 0; i < MAX_FUNCTIONS; i++)
        if (definition == &functions[i].definition)
            return &functions[i];
    return NULL;
}

// Ours that is called as that one is, or NULL.
static PyCFunction counterpart(const struct inside *place, const PyMethodDef *torchs,
                               bool is_method)
{
    if (is_method)
        return torchs->ml_flags == (METH_VARARGS | METH_KEYWORDS) ? place->definition.ml_meth
                                                                  : NULL;
    if (torchs->ml_flags == (METH_VARARGS | METH_KEYWORDS))
        return METHOD(call_function);
    return torchs->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? METHOD(call_fast) : NULL;
}

// self: NULL for a method.
static bool hook_inside(PyMethodDef **definition, const PyObject *self)
{
    if (ours(*definition))
        return true;
    struct inside *place = self
                               ? choose(functions, MAX_FUNCTIONS, *definition)
                               : choose(methods, sizeof(methods) / sizeof(methods[0]), *definition);
    const PyCFunction instead = place ? counterpart(place, *definition, !self) : NULL;
    if (!instead)
        return false;
    place->self = self;
    place->torchs = *definition;
    place->function = (*definition)->ml_meth;
    place->definition = **definition;
    place->definition.ml_meth = instead;
    *definition = &place->definition;
    return true;
}

static bool unhook_inside(PyMethodDef **definition)
{
    const struct inside *place = ours(*definition);
    if (!place)
        return false;
    *definition = place->torchs;
    return true;
}

PyObject *py_inside_undo(PyObject *module, PyObject *function)
{
    (void)module;
    bool was_hooked = false;
    if (Py_TYPE(function) == &PyMethodDescr_Type)
        was_hooked = unhook_inside(&((PyMethodDescrObject *)function)->d_method);
    else if (Py_TYPE(function) == &PyCFunction_Type)
        was_hooked = unhook_inside(&((PyCFunctionObject *)function)->m_ml);
    return PyBool_FromLong(was_hooked);
}

PyObject *py_inside(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    bool is_hooked = false;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "_hook_inside(is_copy, function) takes two arguments");
        return NULL;
    }
    PyObject *function = args[1];
    if (args[0] == Py_True && Py_TYPE(function) == &PyMethodDescr_Type) {
        is_hooked = hook_inside(&((PyMethodDescrObject *)function)->d_method, NULL);
    } else if (args[0] == Py_False && Py_TYPE(function) == &PyCFunction_Type) {
        PyCFunctionObject *builtin = (PyCFunctionObject *)function;
        is_hooked = builtin->m_self && hook_inside(&builtin->m_ml, builtin->m_self);
    }
    return PyBool_FromLong(is_hooked);
}
