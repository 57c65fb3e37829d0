// SPDX-License-Identifier: Apache-2.0
// The report multiplies each by the number of events, so one that was told early
// stands for all that follow.
#include "torch/py_cost.h"

#include <stdio.h>

#include <gait/internal/windows.h>
#include <gait/record.h>

#include "schedule/py_schedule.h"
#include "torch/py_phase.h"
#include "vocabulary/metadata.h"

static double call_cost_ns;
static uint64_t told_of; // phases that were measured when it was told last

static void tell(void)
{
    char json[160];
    const double phase_ns = py_phase_cost_ns(call_cost_ns);
    snprintf(json, sizeof(json),
             "{\"phase\": %.1f, \"loader\": %.1f, \"window\": %.1f, \"step\": %.1f}", phase_ns,
             phase_ns, gait_window_cost_ns(), py_schedule_clock_cost_ns());
    (void)gait_metadata(meta.cost_ns_hooks, json);
}

void py_cost_grows(uint64_t measured)
{
    if (measured < 2 * told_of || !measured)
        return;
    told_of = measured;
    tell();
}

void py_cost_forget_told(void)
{
    told_of = 0;
}

PyObject *py_cost_call(PyObject *module, PyObject *call_ns)
{
    (void)module;
    const double call = PyFloat_AsDouble(call_ns);
    if (PyErr_Occurred())
        return NULL;
    call_cost_ns = call;
    py_phase_timing.passed = 0; // those were of the measurement
    Py_RETURN_NONE;
}

PyObject *py_cost_tell(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    tell();
    Py_RETURN_NONE;
}
