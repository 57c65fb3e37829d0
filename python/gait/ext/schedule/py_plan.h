// SPDX-License-Identifier: Apache-2.0
// <gait/internal/schedule.h> for Python. A schedule is bytes there, the struct as it is:
// they can be copied, compared and pickled, and need no type of their own.
#ifndef GAIT_PY_PLAN_H
#define GAIT_PY_PLAN_H

#include "core/py_compat.h"

#include <gait/internal/schedule.h>

// The schedule that such bytes are; -1 and a TypeError if they are none.
int py_plan_of(PyObject *bytes, struct gait_schedule *ret_schedule);

// _schedule(wait, warmup, active, repeat, skip_first, skip_first_wait, every, unit):
// ints, checked: ValueError.
PyObject *py_plan_make(PyObject *module, PyObject *const *args, Py_ssize_t count);

// _schedule_parse(text): ValueError.
PyObject *py_plan_parse(PyObject *module, PyObject *text);

// _schedule_at(schedule, position) gives (action, cycle).
PyObject *py_plan_at(PyObject *module, PyObject *const *args, Py_ssize_t count);

// _schedule_needs(schedule, cycles), _schedule_recorded(schedule, length), _schedule_plan(schedule,
// length), _schedule_clamp(schedule, epochs): (schedule, had to give way), or ValueError;
// _schedule_unit(schedule): its number.
PyObject *py_plan_needs(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_plan_recorded(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_plan_text(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_plan_clamp(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_plan_unit(PyObject *module, PyObject *bytes);

#endif
