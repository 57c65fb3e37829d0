// SPDX-License-Identifier: Apache-2.0
// The functions that a tracer met: what keeps their addresses theirs, and what
// they are called. The GIL is held in all of these functions.
#ifndef GAIT_PY_FUNCTIONS_H
#define GAIT_PY_FUNCTIONS_H

#include "core/py_compat.h"

struct function {
    const void *key; // a code object, or the method definition of a C function
    PyObject *code;  // the code object, kept alive; NULL for C
    PyObject *name;  // of C: what cProfile calls it, as str
    int is_excluded;
    uint32_t site;         // the recorder's, 0: not asked for yet
    uint32_t resumed_site; // of a generator, where it went on last
    int resumed_line;
    uint64_t place; // free for who walks the tree
};

struct functions {
    struct function **table; // open addressing; a power of two
    size_t table_size, count;
    PyObject *own;    // gait's own folder, as a str that ends with '/', or NULL
    int has_reprs;    // functions of C are called what repr() says
    PyObject *decide; // called with (filename, name) of new code: false excludes it; or NULL
};

// Of code objects made at run time no more than this many are kept.
#define FUNCTIONS_MAX 200000

void functions_init(struct functions *functions);
void functions_finish(struct functions *functions);

// The function of that key, or NULL.
struct function *functions_find(const struct functions *functions, const void *key);

// The same, made if it is new; NULL when there are too many or no memory. No
// exception stays set, and one that was set stays.
struct function *functions_of_code(struct functions *functions, PyObject *code);
struct function *functions_of_c(struct functions *functions, PyObject *callable);

// The C function behind what is called: a borrowed PyMethodDef, or NULL where
// there is none (a class, a Python function). `ret_bound` gets a new reference to
// the bound function.
const void *functions_c_key(PyObject *callable, PyObject *self, PyObject **ret_bound);

// What pstats keeps of it, (file name, line, name): a new reference.
PyObject *function_label(const struct function *function);

#endif
