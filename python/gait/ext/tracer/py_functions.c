// SPDX-License-Identifier: Apache-2.0
// Functions by address. Names are asked for once, when a report is made; those
// of C functions at once, for the object that tells them may be gone later.
#include "tracer/py_functions.h"

#include <string.h>

#define OURS "gait._native."

void functions_init(struct functions *functions)
{
    *functions = (struct functions){0};
}

void functions_finish(struct functions *functions)
{
    for (size_t i = 0; i < functions->table_size; i++) {
        struct function *function = functions->table[i];
        if (!function)
            continue;
        Py_XDECREF(function->code);
        Py_XDECREF(function->name);
        PyMem_Free(function);
    }
    PyMem_Free(functions->table);
    Py_CLEAR(functions->own);
    Py_CLEAR(functions->decide);
    *functions = (struct functions){0};
}

static struct function **find_slot(const struct functions *functions, const void *key)
{
    uint64_t hash = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u;
    size_t mask = functions->table_size - 1, place = (size_t)(hash >> 32) & mask;
    while (functions->table[place] && functions->table[place]->key != key)
        place = (place + 1) & mask;
    return &functions->table[place];
}

struct function *functions_find(const struct functions *functions, const void *key)
{
    return functions->table ? *find_slot(functions, key) : NULL;
}

static int make_room(struct functions *functions)
{
    if (functions->count * 2 < functions->table_size)
        return 0;
    struct functions old = *functions;
    size_t size = old.table_size ? 2 * old.table_size : 256;
    functions->table = PyMem_Calloc(size, sizeof(struct function *));
    if (!functions->table) {
        functions->table = old.table;
        return -1;
    }
    functions->table_size = size;
    for (size_t i = 0; i < old.table_size; i++) {
        if (old.table[i])
            *find_slot(functions, old.table[i]->key) = old.table[i];
    }
    PyMem_Free(old.table);
    return 0;
}

static struct function *add(struct functions *functions, const void *key)
{
    if (functions->count >= FUNCTIONS_MAX || make_room(functions))
        return NULL;
    struct function *function = PyMem_Calloc(1, sizeof *function);
    if (!function)
        return NULL;
    function->key = key;
    *find_slot(functions, key) = function;
    functions->count++;
    return function;
}

// --- Python functions ---

static int is_wanted(const struct functions *functions, const PyCodeObject *code)
{
    if (functions->own &&
        PyUnicode_Tailmatch(code->co_filename, functions->own, 0, PY_SSIZE_T_MAX, -1) == 1)
        return 0;
    if (!functions->decide)
        return 1;
    PyObject *answer =
        PyObject_CallFunctionObjArgs(functions->decide, code->co_filename, code->co_name, NULL);
    int is = answer ? PyObject_IsTrue(answer) : 1;
    Py_XDECREF(answer);
    return is != 0;
}

struct function *functions_of_code(struct functions *functions, PyObject *code)
{
    struct function *function = functions_find(functions, code);
    if (function)
        return function;
    function = add(functions, code);
    if (!function)
        return NULL;
    function->code = Py_NewRef(code);
    if (functions->decide || functions->own) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        function->is_excluded = !is_wanted(functions, (PyCodeObject *)code);
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    return function;
}

// --- functions of C, called as cProfile calls them ---

const void *functions_c_key(PyObject *callable, PyObject *self, PyObject **ret_bound)
{
    *ret_bound = NULL;
    if (PyCFunction_Check(callable)) {
        *ret_bound = Py_NewRef(callable);
    } else if (Py_TYPE(callable) == &PyMethodDescr_Type && self) {
        PyObject *bound =
            PyMethodDescr_Type.tp_descr_get(callable, self, (PyObject *)Py_TYPE(self));
        if (bound && PyCFunction_Check(bound))
            *ret_bound = bound;
        else
            Py_XDECREF(bound);
        PyErr_Clear();
    }
    return *ret_bound ? ((PyCFunctionObject *)*ret_bound)->m_ml : NULL;
}

static PyObject *module_name(PyObject *module)
{
    if (!module)
        return NULL;
    return PyModule_Check(module) ? PyModule_GetNameObject(module) : PyObject_Str(module);
}

static PyObject *name_of_function(const PyCFunctionObject *callable)
{
    PyObject *module = module_name(callable->m_module);
    if (!module || !PyUnicode_CompareWithASCIIString(module, "builtins")) {
        PyErr_Clear();
        Py_XDECREF(module);
        return PyUnicode_FromFormat("<%s>", callable->m_ml->ml_name);
    }
    PyObject *name = PyUnicode_FromFormat("<%U.%s>", module, callable->m_ml->ml_name);
    Py_DECREF(module);
    return name;
}

static PyObject *name_of_method(const PyCFunctionObject *callable)
{
    PyObject *name = PyUnicode_FromString(callable->m_ml->ml_name);
    PyObject *found = name ? _PyType_Lookup(Py_TYPE(callable->m_self), name) : NULL;
    Py_XINCREF(found);
    PyObject *text = found ? PyObject_Repr(found) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(name);
    if (text)
        return text;
    PyErr_Clear();
    if (callable->m_module && PyUnicode_Check(callable->m_module))
        return PyUnicode_FromFormat("<built-in method %S.%s>", callable->m_module,
                                    callable->m_ml->ml_name);
    return PyUnicode_FromFormat("<built-in method %s>", callable->m_ml->ml_name);
}

struct function *functions_of_c(struct functions *functions, PyObject *callable)
{
    const PyCFunctionObject *c = (PyCFunctionObject *)callable;
    struct function *function = functions_find(functions, c->m_ml);
    if (function)
        return function;
    function = add(functions, c->m_ml);
    if (!function)
        return NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (functions->has_reprs)
        function->name = PyObject_Repr(callable);
    else
        function->name = c->m_self ? name_of_method(c) : name_of_function(c);
    // what begins and ends actions is not part of them
    function->is_excluded =
        c->m_self && !strncmp(Py_TYPE(c->m_self)->tp_name, OURS, sizeof OURS - 1);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return function;
}

PyObject *function_label(const struct function *function)
{
    if (!function->code)
        return Py_BuildValue("siO", "~", 0, function->name ? function->name : Py_None);
    const PyCodeObject *code = (PyCodeObject *)function->code;
    return Py_BuildValue("OiO", code->co_filename, code->co_firstlineno, code->co_name);
}
