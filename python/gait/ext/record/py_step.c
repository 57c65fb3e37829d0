// SPDX-License-Identifier: Apache-2.0
// Counts steps, recording or not: switched on in the middle, the numbers are
// still those of the training. A call whose object goes before any `with` has entered
// it stands alone in its line: it ends a step and begins the next.
#include "record/py_step.h"

#include <gait/record.h>

#include "core/py_thread.h"
#include "core/py_type.h"
#include "schedule/py_schedule.h"

struct step {
    PyObject ob_base;
    PyObject *module;
    struct py_state *state; // the module's
    uint64_t number;
    int is_counting; // the number is the next one each time it begins
    enum { IDLE, GIVEN, ENTERED } use;
};

static int parse_number(PyObject *given, uint64_t *ret_number)
{
    if (!PyIndex_Check(given)) {
        PyErr_Format(PyExc_TypeError, "a step's number is an int, not '%s'",
                     Py_TYPE(given)->tp_name);
        return -1;
    }
    PyObject *exact = PyNumber_Index(given);
    if (!exact)
        return -1;
    uint64_t number = PyLong_AsUnsignedLongLong(exact);
    Py_DECREF(exact);
    if (number == UINT64_MAX && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "a step's number is at least 0 and below 2**64");
        return -1;
    }
    *ret_number = number;
    return 0;
}

static void begin(struct py_state *state, uint64_t number)
{
    state->next_step = number + 1;
    py_schedule_told();
    if (!GAIT_ON)
        return;
    py_thread_ready();
    gait_step_begin(number);
}

static void end(void)
{
    if (GAIT_ON)
        gait_step_end();
}

PyObject *py_step_create(PyObject *module, PyObject *number)
{
    uint64_t parsed = 0;
    int is_counting = !number || number == Py_None;
    if (!is_counting && parse_number(number, &parsed))
        return NULL;
    struct py_state *state = py_state_of(module);
    struct step *step = PyObject_GC_New(struct step, state->step_type);
    if (!step)
        return NULL;
    step->state = state;
    step->module = Py_NewRef(module);
    step->number = parsed;
    step->is_counting = is_counting;
    step->use = is_counting ? IDLE : GIVEN;
    PyObject_GC_Track((PyObject *)step);
    return (PyObject *)step;
}

// One that counts: that of the last call, once nobody has it any more.
static PyObject *take_counting(PyObject *module)
{
    struct py_state *state = py_state_of(module);
    PyObject *step = state->counting_step ? state->counting_step : py_step_create(module, NULL);
    state->counting_step = NULL;
    if (step)
        ((struct step *)step)->use = GIVEN;
    return step;
}

static int check_count(Py_ssize_t count, const char *function)
{
    if (count > 1)
        PyErr_Format(PyExc_TypeError, "%s() takes the step's number or nothing", function);
    return count > 1 ? -1 : 0;
}

PyObject *py_step(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (check_count(count, "step"))
        return NULL;
    if (!count || args[0] == Py_None)
        return take_counting(module);
    return py_step_create(module, args[0]);
}

PyObject *py_step_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct py_state *state = py_state_of(module);
    uint64_t number = state->next_step;
    if (check_count(count, "step_begin"))
        return NULL;
    if (count && args[0] != Py_None && parse_number(args[0], &number))
        return NULL;
    begin(state, number);
    Py_RETURN_NONE;
}

PyObject *py_step_end(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    end();
    Py_RETURN_NONE;
}

static void begin_it(const struct step *step)
{
    begin(step->state, step->is_counting ? step->state->next_step : step->number);
}

static PyObject *step_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((struct step *)self)->use = ENTERED;
    begin_it((const struct step *)self);
    return Py_NewRef(self);
}

static PyObject *step_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self, (void)args, (void)count;
    end();
    Py_RETURN_NONE;
}

static int step_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct step *)self)->module);
    return 0;
}

// Back to where the next call takes it: an object less to make, 30 ns of a step.
static int is_kept(struct step *step)
{
    struct py_state *state = step->state;
    if (!step->is_counting || step->use == IDLE || state->counting_step)
        return 0;
    Py_SET_REFCNT(&step->ob_base, 1);
    step->use = IDLE;
    state->counting_step = &step->ob_base;
    return 1;
}

static void step_dealloc(PyObject *self)
{
    struct step *step = (struct step *)self;
    const int is_bare = step->use == GIVEN, kept = is_kept(step);
    if (is_bare && !Py_IsFinalizing())
        begin_it(step);
    if (kept)
        return;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((struct step *)self)->module);
    py_type_free(self);
}

static PyMethodDef step_methods[] = {
    {"__enter__", step_enter, METH_NOARGS, NULL},
    {"__exit__", METHOD(step_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(step_doc, "A step of the training loop: what gait.step() gives to `with`.");

static PyType_Slot step_slots[] = {
    {Py_tp_doc, (void *)step_doc},   {Py_tp_new, py_type_no_new},   {Py_tp_dealloc, step_dealloc},
    {Py_tp_traverse, step_traverse}, {Py_tp_methods, step_methods}, {0, NULL},
};

static PyType_Spec step_spec = {
    .name = "gait._native.Step",
    .basicsize = sizeof(struct step),
    .flags = PY_TYPE_FLAGS,
    .slots = step_slots,
};

int py_step_add_type(struct py_state *state)
{
    state->step_type = py_type_create(&step_spec);
    return state->step_type ? 0 : -1;
}
