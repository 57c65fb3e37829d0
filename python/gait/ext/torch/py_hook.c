// SPDX-License-Identifier: Apache-2.0
// The type, and the table of what there is to hook. An object of C rather than a
// Python function: Module.__call__ is called for each layer, and a frame more
// would be 60 ns there where this is 15.
#include "torch/py_hook.h"

#include <string.h>

#include "core/py_type.h"
#include "torch/py_backward.h"
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
    {"optimizer", PHASE_OPTIMIZER, call_plain},
    {"communication", PHASE_COMMUNICATION, call_plain},
    {"copy", PHASE_COPY, py_module_call_copy},
    {"checkpoint", PHASE_CHECKPOINT, call_plain},
    {"logging", PHASE_LOGGING, call_plain},
};

static const struct kind *find_kind(PyObject *name)
{
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!PyUnicode_CompareWithASCIIString(name, kinds[i].name))
            return &kinds[i];
    return NULL;
}

PyObject *py_hook(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const struct kind *kind = count == 2 ? find_kind(args[0]) : NULL;
    if (!kind || !PyCallable_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_hook(kind, function) takes a known kind and a callable");
        return NULL;
    }
    PyTypeObject *type = py_state_of(module)->hook_type;
    struct hook *hook = (struct hook *)type->tp_alloc(type, 0);
    if (!hook)
        return NULL;
    hook->call = kind->call;
    hook->phase = kind->phase;
    hook->function = Py_NewRef(args[1]);
    return (PyObject *)hook;
}

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct hook *)self)->function);
    Py_VISIT(((struct hook *)self)->dict);
    return 0;
}

// The function stays until the end: a call may still be on its way.
static int hook_clear(PyObject *self)
{
    Py_CLEAR(((struct hook *)self)->dict);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((struct hook *)self)->weak_references)
        PyObject_ClearWeakRefs(self);
    hook_clear(self);
    Py_XDECREF(((struct hook *)self)->function);
    py_type_free(self);
}

static PyObject *hook_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%R on gait's record>", ((struct hook *)self)->function);
}

static PyMethodDef hook_methods[] = {
    {"__reduce__", py_type_reduce_to_name, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct hook, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct hook, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct hook, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_traverse, hook_traverse},
    {Py_tp_clear, hook_clear},
    {Py_tp_repr, hook_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, py_type_bind},
    {Py_tp_methods, hook_methods},
    {Py_tp_getset, py_type_dict},
    {Py_tp_members, hook_members},
    {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "gait._gait.Hook",
    .basicsize = sizeof(struct hook),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = hook_slots,
};

int py_hook_add_type(struct py_state *state)
{
    state->hook_type = py_type_create(&hook_spec);
    return state->hook_type ? 0 : -1;
}
