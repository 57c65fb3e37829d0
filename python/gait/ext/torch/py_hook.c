// SPDX-License-Identifier: Apache-2.0
// The type, and the table of what there is to hook. An object of C rather than a
// Python function: Module.__call__ is called for each layer, and a frame more
// would be 60 ns there where this is 15; and no frame of gait's is in anybody's
// traceback.
#include "torch/py_hook.h"

#include <stdbool.h>

#include "core/py_type.h"
#include "torch/py_backward.h"
#include "torch/py_copy.h"
#include "torch/py_loader.h"
#include "torch/py_module.h"
#include "torch/py_optimizer.h"

static PyObject *call_plain(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (!py_phase_begin(((struct hook *)self)->phase))
        return py_hook_pass(self, args, nargsf, kwnames);
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    py_phase_end();
    return result;
}

// Calls what is called beside the function. A failure of ours is not the program's;
// Ctrl-C meanwhile is.
static int call_other(PyObject *self, PyObject *const *args, size_t nargsf)
{
    const size_t count = PyVectorcall_NARGS(nargsf) > 0;
    PyObject *result = PyObject_Vectorcall(((struct hook *)self)->other, args, count, NULL);
    Py_XDECREF(result);
    if (result || !PyErr_ExceptionMatches(PyExc_Exception))
        return result ? 0 : -1;
    PyErr_Clear();
    return 0;
}

static PyObject *call_before(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames)
{
    if (call_other(self, args, nargsf))
        return NULL;
    return PyObject_Vectorcall(((struct hook *)self)->function, args, nargsf, kwnames);
}

static PyObject *call_after(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result = PyObject_Vectorcall(((struct hook *)self)->function, args, nargsf, kwnames);
    if (result && call_other(self, args, nargsf))
        Py_CLEAR(result);
    return result;
}

// Also after a call that failed.
static PyObject *call_finally(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    PyObject *result = PyObject_Vectorcall(((struct hook *)self)->function, args, nargsf, kwnames);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!call_other(self, args, nargsf)) {
        PyErr_Restore(type, value, traceback);
        return result;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    Py_XDECREF(result);
    return NULL;
}

static PyObject *call_instead(PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    return PyObject_Vectorcall(((struct hook *)self)->other, args, nargsf, kwnames);
}

// object.__init_subclass__(), which Optimizer gets one of its own for: the next one in
// the class's order is called, as if there were none here.
static PyObject *next_init_subclass(PyObject *self, PyObject *cls)
{
    PyObject *base = PyObject_GetAttrString(((struct hook *)self)->function, "__self__");
    PyObject *next =
        base ? PyObject_CallFunctionObjArgs((PyObject *)&PySuper_Type, base, cls, NULL) : NULL;
    PyObject *method = next ? PyObject_GetAttrString(next, "__init_subclass__") : NULL;
    Py_XDECREF(next);
    Py_XDECREF(base);
    return method;
}

static PyObject *call_subclass(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames)
{
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (!count)
        return py_hook_pass(self, args, nargsf, kwnames);
    PyObject *method = next_init_subclass(self, args[0]);
    PyObject *result =
        method ? PyObject_Vectorcall(method, args + 1, (size_t)count - 1, kwnames) : NULL;
    if (result && call_other(self, args, nargsf))
        Py_CLEAR(result);
    Py_XDECREF(method);
    return result;
}

struct kind {
    const char *name;
    enum py_phase phase;
    vectorcallfunc call;
};

static const struct kind kinds[] = {
    {"ask", PHASE_INPUT, py_loader_call_next},
    {"iterator", PHASE_INPUT, py_loader_call_iter},
    {"fetch", PHASE_FETCH, call_plain},
    {"collate", PHASE_COLLATE, call_plain},
    {"forward", PHASE_FORWARD, py_module_call_forward},
    {"train", PHASE_FORWARD, py_module_call_train},
    {"backward", PHASE_BACKWARD, py_backward_call},
    {"step", PHASE_OPTIMIZER, py_optimizer_call_step},
    {"scaler_step", PHASE_OPTIMIZER, py_optimizer_call_scaler},
    {"zero_grad", PHASE_OPTIMIZER, py_optimizer_call_other},
    {"replay", PHASE_OPTIMIZER, py_optimizer_call_replay},
    {"optimizer", PHASE_OPTIMIZER, call_plain},
    {"communication", PHASE_COMMUNICATION, call_plain},
    {"copy", PHASE_COPY, py_copy_call},
    {"checkpoint", PHASE_CHECKPOINT, call_plain},
    {"logging", PHASE_LOGGING, call_plain},
    // these call something beside the function
    {"before", PHASE_COUNT, call_before},
    {"after", PHASE_COUNT, call_after},
    {"finally", PHASE_COUNT, call_finally},
    {"instead", PHASE_COUNT, call_instead},
    {"subclass", PHASE_COUNT, call_subclass},
};

static const struct kind *find_kind(PyObject *name)
{
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!PyUnicode_CompareWithASCIIString(name, kinds[i].name))
            return &kinds[i];
    return NULL;
}

// A function, and another where the kind wants one.
static bool are_arguments(const struct kind *kind, PyObject *const *args, Py_ssize_t count)
{
    if (!kind)
        return false;
    if (count != 2 + (kind->phase == PHASE_COUNT || kind->call == py_optimizer_call_replay))
        return false;
    return PyCallable_Check(args[1]) && (count == 2 || PyCallable_Check(args[2]));
}

PyObject *py_hook_closure(PyObject *step, PyObject *closure)
{
    struct hook *hook = (struct hook *)Py_TYPE(step)->tp_alloc(Py_TYPE(step), 0);
    if (!hook)
        return NULL;
    hook->call = call_plain;
    hook->phase = PHASE_CLOSURE;
    hook->function = Py_NewRef(closure);
    return (PyObject *)hook;
}

PyObject *py_hook(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const struct kind *kind = count >= 2 ? find_kind(args[0]) : NULL;
    if (!are_arguments(kind, args, count)) {
        PyErr_SetString(PyExc_TypeError, "_hook(kind, function, other) takes a known kind, a "
                                         "callable and for some kinds another one");
        return NULL;
    }
    PyTypeObject *type = py_state_of(module)->hook_type;
    struct hook *hook = (struct hook *)type->tp_alloc(type, 0);
    if (!hook)
        return NULL;
    hook->call = kind->call;
    hook->phase = kind->phase;
    hook->function = Py_NewRef(args[1]);
    hook->other = count == 3 ? Py_NewRef(args[2]) : NULL;
    return (PyObject *)hook;
}

PyObject *py_hook_function(PyObject *module, PyObject *hook)
{
    if (Py_TYPE(hook) == py_state_of(module)->hook_type)
        return Py_NewRef(((struct hook *)hook)->function);
    PyErr_SetString(PyExc_TypeError, "_hooked(hook) takes a hook");
    return NULL;
}

// Both stay until the end: a call may still be on its way.
static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct hook *)self)->function);
    Py_VISIT(((struct hook *)self)->other);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((struct hook *)self)->weak_references)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(((struct hook *)self)->function);
    Py_XDECREF(((struct hook *)self)->other);
    py_type_free(self);
}

// --- what it is asked ---
//
// Nearly all is answered by the function: its class (so that isinstance() and inspect
// take a hook for a function), name, code, signature, attributes, equality, hash. Its
// own is only what would lead round the hook: how it is called and bound. How it is
// pickled says gait/torch/wrap.py.

static bool is_own(PyObject *name)
{
    static const char *const own[] = {"__call__", "__get__", "__copy__", "__deepcopy__"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (!PyUnicode_CompareWithASCIIString(name, own[i]))
            return true;
    return false;
}

static PyObject *hook_get(PyObject *self, PyObject *name)
{
    if (is_own(name))
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((struct hook *)self)->function, name);
}

static int hook_set(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((struct hook *)self)->function, name, value);
}

static PyObject *hook_repr(PyObject *self)
{
    return PyObject_Repr(((struct hook *)self)->function);
}

static Py_hash_t hook_hash(PyObject *self)
{
    return PyObject_Hash(((struct hook *)self)->function);
}

static PyObject *hook_compare(PyObject *self, PyObject *other, int operation)
{
    if (Py_TYPE(other) == Py_TYPE(self))
        other = ((struct hook *)other)->function;
    return PyObject_RichCompare(((struct hook *)self)->function, other, operation);
}

static PyObject *hook_copy(PyObject *self, PyObject *memo)
{
    (void)memo;
    return Py_NewRef(self);
}

static PyMethodDef hook_methods[] = {
    {"__copy__", hook_copy, METH_NOARGS, NULL},
    {"__deepcopy__", hook_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct hook, call), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct hook, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_traverse, hook_traverse},
    {Py_tp_repr, hook_repr},
    {Py_tp_hash, hook_hash},
    {Py_tp_richcompare, hook_compare},
    {Py_tp_getattro, hook_get},
    {Py_tp_setattro, hook_set},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, py_type_bind},
    {Py_tp_methods, hook_methods},
    {Py_tp_members, hook_members},
    {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "gait._native.Hook",
    .basicsize = sizeof(struct hook),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = hook_slots,
};

int py_hook_add_type(struct py_state *state)
{
    state->hook_type = py_type_create(&hook_spec);
    return state->hook_type ? 0 : -1;
}
