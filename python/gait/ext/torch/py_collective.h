// SPDX-License-Identifier: Apache-2.0
// Which collective a communication phase is: its kind, its group, and its number in that
// group, counted in each process alike. Two ranks that wait for each other with different
// numbers call their collectives in different orders.
#ifndef GAIT_PY_COLLECTIVE_H
#define GAIT_PY_COLLECTIVE_H

#include "core/py_compat.h"

#include <stdbool.h>
#include <stdint.h>

struct py_collective {
    uint64_t number;   // 0: it is no collective, or its group is not known
    bool is_wait;      // for one that was called before
    const char *kind;  // torch's name of the method
    const char *group; // its name
};

// Counts a call, also one that stays off the record. `self`: the group, or the work that is
// waited for; may be NULL. An exception that is set stays.
struct py_collective py_collective_count(const char *method, PyObject *self);

// Puts it on the open phase.
void py_collective_put(const struct py_collective *call);

// `result`: what the call gave, the work to wait for; may be NULL.
void py_collective_left(const struct py_collective *call, const PyObject *result);

// _forget_groups(), a function of the module: some group is gone, and its address may become
// that of another one.
PyObject *py_collective_forget(PyObject *module, PyObject *unused);

#endif
